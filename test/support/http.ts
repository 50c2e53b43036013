import { randomUUID } from 'node:crypto';
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

/** The HTTP servers that Nest runs on. */
export const HTTP_ADAPTERS = {
  Express: (): AbstractHttpAdapter => new ExpressAdapter(),
  Fastify: (): AbstractHttpAdapter => new FastifyAdapter({ forceCloseConnections: true }),
};

export type HttpAdapterName = keyof typeof HTTP_ADAPTERS;

/** For `describe.each`. */
export const HTTP_ADAPTER_NAMES = Object.keys(HTTP_ADAPTERS) as HttpAdapterName[];

/** An application that is not started yet: connect microservices, set adapters and global enhancers first. */
export function createApplication(
  adapter: HttpAdapterName,
  metadata: ModuleMetadata,
): Promise<INestApplication> {
  const module = { module: class AppModule extends Object {}, ...metadata };
  return NestFactory.create(module, HTTP_ADAPTERS[adapter](), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
}

/** An application that serves on a free port of this machine. */
export async function serve(
  adapter: HttpAdapterName,
  metadata: ModuleMetadata,
  prepare?: (app: INestApplication) => unknown,
): Promise<INestApplication> {
  const app = await createApplication(adapter, metadata);
  try {
    await prepare?.(app);
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}

/** What an HTTP caller sees. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** One request; its answer's body is parsed if it is JSON. */
export async function request(
  app: INestApplication,
  path: string,
  init: RequestInit = {},
): Promise<HttpAnswer> {
  const answer = await fetch(new URL(path, await app.getUrl()), init);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A name that nobody else uses, for servers that tests share. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID()}`;
}
