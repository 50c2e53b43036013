import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ReplicaModule } from './replica.module.js';
import { type DriverName, openStore } from './store.js';

// Started by replicas.ts.
const [node, driver, url] = process.argv.slice(2) as [string, DriverName, string];

// Replicas must not outlive the process that watches them.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

const store = openStore({ driver, url });
const app = await NestFactory.createApplicationContext(ReplicaModule.forRoot(node, store), {
  logger: ['warn', 'error'],
});
app.enableShutdownHooks();
