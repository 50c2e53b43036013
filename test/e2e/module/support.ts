import {
  ConsoleLogger,
  type DynamicModule,
  type INestApplicationContext,
  type ModuleMetadata,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { type LockDriver, MemoryLockDriver, type Unsubscribe } from 'nestjs-distributed-lock';
import { vi } from 'vitest';

/** A memory driver that knows whether it was connected and closed, and how many listen to it. */
export class ConnectedDriver extends MemoryLockDriver implements LockDriver {
  readonly connect = vi.fn<() => Promise<void>>().mockResolvedValue();
  readonly close = vi.fn<() => Promise<void>>().mockResolvedValue();
  private readonly subscriptions = new Set<Unsubscribe>();

  get listeners(): number {
    return this.subscriptions.size;
  }

  override onReleased(key: string, listener: () => void): Unsubscribe {
    const unsubscribe = super.onReleased(key, listener);
    this.subscriptions.add(unsubscribe);
    return () => {
      this.subscriptions.delete(unsubscribe);
      unsubscribe();
    };
  }
}

/**
 * The timers that were set from here on and have neither fired nor been cleared, those that do not keep the process
 * alive included. The test runner's own come and go unseen: it took its functions before.
 */
export function openTimers(): ReadonlySet<unknown> {
  const open = new Set<unknown>();
  const { setTimeout, clearTimeout } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation((callback: () => void, ms?: number) => {
    const timer = setTimeout(() => {
      open.delete(timer);
      callback();
    }, ms);
    open.add(timer);
    return timer;
  });
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    open.delete(timer);
    clearTimeout(timer);
  });
  return open;
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
