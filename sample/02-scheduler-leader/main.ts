import { once } from 'node:events';
import { printTable } from '../print-table.js';
import { startBackend } from './backend.js';
import { Observer } from './observer.js';
import { parseOptions } from './options.js';
import { Replicas } from './replicas.js';
import { openStore } from './store.js';

const REPLICAS = 3;

const options = parseOptions(process.argv.slice(2));
const ending = new AbortController();
// Not once: npm passes on what the terminal has sent to us too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => ending.abort());
}
const observer = new Observer(options, ending);

await using backend = await startBackend(options);
await using store = openStore(backend.address);
await store.ticks.prepare();
try {
  await watchReplicas();
  await judge();
} finally {
  await store.ticks.remove();
}

async function watchReplicas(): Promise<void> {
  await using replicas = new Replicas(backend.address, observer);
  observer.observe(replicas);
  for (let i = 0; i < REPLICAS; i++) {
    replicas.start();
  }
  if (!ending.signal.aborted) {
    await once(ending.signal, 'abort');
  }
  observer.stop();
}

async function judge(): Promise<void> {
  const ticks = await store.ticks.findAll();
  console.log();
  printTable(observer.table(ticks));
  const faults = observer.faults(ticks);
  const twice = ticks.filter(({ runs }) => runs > 1).length;
  console.log(`\n${ticks.length} slots were run, ${twice} of them twice.`);
  console.log(faults.length === 0 ? 'All is well.' : `Wrong: ${faults.join('; ')}.`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
