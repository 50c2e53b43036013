require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const {
  DistributedLockModule,
  LockService,
  MemoryLockDriver,
  lockKey,
} = require('nestjs-distributed-lock');
const { TestLockDriver } = require('nestjs-distributed-lock/testing');

class AppModule {}
Module({
  imports: [DistributedLockModule.forRoot(new MemoryLockDriver({ singleProcess: true }))],
})(AppModule);

async function main() {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const lock = await app.get(LockService).acquire(lockKey`order:${7}`);
  const report = {
    keys: lock.keys,
    heldBefore: lock.held,
    token: typeof lock.fencingToken,
    released: await lock.release(),
    heldAfter: lock.held,
    testing: typeof TestLockDriver,
    loadedPeers: globalThis.loadedPeers ?? [],
  };
  await app.close();
  // No process.exit: nothing of the package may keep the process alive.
  console.log(JSON.stringify(report));
}

void main();
