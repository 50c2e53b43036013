import type { AddressInfo, Server } from 'node:net';
import type { INestMicroservice, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type ClientOptions,
  type ClientProxy,
  ClientProxyFactory,
  type MicroserviceOptions,
  type RedisOptions,
  Transport,
} from '@nestjs/microservices';
import type { RedisAddress } from './redis/redis-address.js';

/** Options for a server on a free port. */
export const TCP_OPTIONS = {
  transport: Transport.TCP,
  options: { host: '127.0.0.1', port: 0 },
} satisfies MicroserviceOptions;

/** Options for both sides of a Redis transport. */
export function redisOptions({ host, port, username, password }: RedisAddress): RedisOptions {
  return { transport: Transport.REDIS, options: { host, port, username, password } };
}

/** A microservice alone in its application, listening. */
export async function listen(
  options: MicroserviceOptions,
  metadata: ModuleMetadata,
): Promise<INestMicroservice> {
  const module = { module: class AppModule extends Object {}, ...metadata };
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(module, {
    ...options,
    logger: false,
    abortOnError: false,
  });
  await app.listen();
  return app;
}

/** A client of a TCP server on a port that the system chose. */
export async function connectTcp(server: INestMicroservice): Promise<ClientProxy> {
  const listening = server.unwrap<Server>();
  // Answers go out in two packets, and the second would wait for the client to acknowledge the first.
  listening.on('connection', (socket) => socket.setNoDelay());
  const { port } = listening.address() as AddressInfo;
  return connect({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
}

export async function connect(options: ClientOptions): Promise<ClientProxy> {
  const client = ClientProxyFactory.create(options);
  await client.connect();
  return client;
}
