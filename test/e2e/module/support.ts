import {
  ConsoleLogger,
  type DynamicModule,
  type INestApplicationContext,
  type ModuleMetadata,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { type LockDriver, MemoryLockDriver } from 'nestjs-distributed-lock';
import { vi } from 'vitest';

/** A memory driver that remembers whether it was connected and closed. */
export class ConnectedDriver extends MemoryLockDriver implements LockDriver {
  readonly connect = vi.fn<() => Promise<void>>().mockResolvedValue();
  readonly close = vi.fn<() => Promise<void>>().mockResolvedValue();
}

/** An application without a server, booted as users do it. */
export function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(moduleOf(metadata), {
    logger: false,
    abortOnError: false,
  });
}

/** The same as a test module, which tells of a failed boot with Nest's own message. */
export async function compile(metadata: ModuleMetadata): Promise<TestingModule> {
  const testing = await Test.createTestingModule(metadata)
    .setLogger(new ConsoleLogger({ logLevels: [] }))
    .compile();
  return testing.init();
}

/** A module of its own, each time. */
export function moduleOf(metadata: ModuleMetadata): DynamicModule {
  return { module: class AppModule extends Object {}, ...metadata };
}
