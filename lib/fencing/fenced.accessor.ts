import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';

/** What a handler writes to, for the gate: a name, or a function of the request. */
export type FencedResource = string | ((context: ExecutionContext) => string);

/** What a handler is fenced by. */
export interface Fencing {
  readonly resource: FencedResource;
  /** The name of the instance whose gate it is. */
  readonly service: string | undefined;
}

/** On a handler, or on a class for all of its handlers. */
export const FENCING_METADATA = 'nestjs-distributed-lock:fencing';

/** What the handler is fenced by; what is said at the method comes first. */
export function fencingOf(context: ExecutionContext): Fencing | undefined {
  const read = (target: Function): Fencing | undefined =>
    Reflect.getMetadata(FENCING_METADATA, target) as Fencing | undefined;
  return read(context.getHandler()) ?? read(context.getClass());
}
