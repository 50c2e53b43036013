import 'reflect-metadata';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import type { Type } from '@nestjs/common';

/** On a method: the ids of the locks it takes, the outermost first. */
const LOCKS_METADATA = 'nestjs-distributed-lock:locks';

/** On a method: the name it has in its class, which a decorator that wraps it may not keep. */
const NAME_METADATA = 'nestjs-distributed-lock:name';

/** The name of a locked method in its class. */
export function methodNameOf(handler: Function): string | symbol {
  return (
    (Reflect.getMetadata(NAME_METADATA, handler) as string | symbol | undefined) ?? handler.name
  );
}

/** The ids of the locks that a handler takes by itself. */
export function lockIdsOf(handler: Function): readonly symbol[] {
  return (Reflect.getMetadata(LOCKS_METADATA, handler) as readonly symbol[] | undefined) ?? [];
}

/** The return type that TypeScript has written down, if it has. */
export function returnTypeOf(target: object, name: string | symbol): unknown {
  return Reflect.getMetadata('design:returntype', target, name);
}

/** Writes down that the method takes this lock, outside those that it takes already. */
export function addLockId(method: Function, id: symbol): void {
  Reflect.defineMetadata(LOCKS_METADATA, [id, ...lockIdsOf(method)], method);
}

/** Makes the wrapper stand for the method in everything that looks at it: Nest, Swagger, other decorators. */
export function copyAppearance(method: Function, wrapper: Function, name: string | symbol): void {
  for (const key of Reflect.ownKeys(method)) {
    if (key !== 'prototype') {
      Object.defineProperty(wrapper, key, Object.getOwnPropertyDescriptor(method, key)!);
    }
  }
  for (const key of Reflect.getMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), wrapper);
  }
  Reflect.defineMetadata(NAME_METADATA, name, wrapper);
}

/** Binds an interceptor outside all that are bound to the method or the class already, or will be. */
export function bindOutermost(interceptor: Type, ...targets: Function[]): void {
  for (const target of targets) {
    const bound =
      (Reflect.getMetadata(INTERCEPTORS_METADATA, target) as unknown[] | undefined) ?? [];
    const others = bound.filter((other) => other !== interceptor);
    Reflect.defineMetadata(INTERCEPTORS_METADATA, [interceptor, ...others], target);
  }
}
