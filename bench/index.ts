import { fork } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { acquireRelease } from './acquire-release.js';
import { memory } from './memory.js';
import { mongo } from './mongo.js';
import { postgres } from './postgres.js';
import { redis } from './redis.js';
import { redisHandover } from './redis-handover.js';
import { renewal } from './renewal.js';
import { type Bench, type Finding, passes } from './support/bench.js';
import { report } from './support/report.js';
import { waiters } from './waiters.js';
import { withLock } from './with-lock.js';
import { withLockDecorator } from './with-lock-decorator.js';

const BENCHES: readonly Bench[] = [
  acquireRelease,
  waiters,
  withLock,
  withLockDecorator,
  memory,
  renewal,
  redis,
  redisHandover,
  postgres,
  mongo,
];

const IN_CHILD = '--in-child';

const USAGE = `npm run bench -- [--check] [${BENCHES.map(({ name }) => name).join(' | ')}] ...

--check ends with exit code 1 if a target is missed.`;

const [first, second] = process.argv.slice(2);
if (first === IN_CHILD) {
  const findings = await find(second)?.run();
  process.send?.(findings ?? [], () => process.disconnect());
} else {
  process.exitCode = await main(process.argv.slice(2));
}

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter((arg) => arg !== '--check');
  const unknown = names.find((name) => find(name) === undefined);
  if (unknown !== undefined) {
    console.error(`There is no bench "${unknown}".\n\n${USAGE}`);
    return 2;
  }
  console.log(
    `node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}\n` +
      `"x" is a ratio within one run. A control shows what the noise of the machine alone makes of it.\n`,
  );
  let missed = 0;
  for (const bench of BENCHES.filter(({ name }) => names.length === 0 || names.includes(name))) {
    console.log(`${bench.name}: ${bench.about}`);
    const findings = await runAlone(bench);
    report(findings);
    console.log();
    missed += findings.filter((finding) => passes(finding) === false).length;
  }
  return args.includes('--check') && missed > 0 ? 1 : 0;
}

function find(name: string | undefined): Bench | undefined {
  return BENCHES.find((bench) => bench.name === name);
}

/** In a process of its own: once any code has used AsyncLocalStorage, every await of its process is slower. */
function runAlone({ name }: Bench): Promise<readonly Finding[]> {
  return new Promise((resolve, reject) => {
    let findings: readonly Finding[] | undefined;
    fork(fileURLToPath(import.meta.url), [IN_CHILD, name], { serialization: 'advanced' })
      .on('message', (message) => (findings = message as readonly Finding[]))
      .on('error', reject)
      .on('exit', (code) =>
        findings === undefined
          ? reject(new Error(`The bench ${name} ended with ${code}`))
          : resolve(findings),
      );
  });
}
