import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';

/** What a process was granted: the owner, and the first and the last token. */
export type Granted = readonly [owner: string, first: number, last: number];

const [id = '', connectionString = '', seconds = ''] = process.argv.slice(2);
const granted: Granted[] = [];
let failed = 0;
let count = 0;

const driver = new PostgresLockDriver({ connectionString, retention: '10s' });
await driver.connect();

const start = performance.now();
const end = start + Number(seconds) * 1000;

/** Some keys are left alone for longer than the retention, and are wanted again after that. */
function pickKey(): string {
  const passed = (performance.now() - start) / 1000;
  const isFirstGroup = passed < 1.5 || passed > Number(seconds) - 1.5;
  return `${isFirstGroup ? 'a' : 'b'}:${Math.floor(Math.random() * 8)}`;
}

async function worker(): Promise<void> {
  while (performance.now() < end) {
    const lease = { key: pickKey(), owner: `${id}#${count++}` };
    try {
      const answer = await driver.acquire({ ...lease, ttl: 50 + Math.random() * 100, tokens: 3 });
      if ('firstToken' in answer) {
        const { firstToken, tokens } = answer;
        granted.push([lease.owner, firstToken, firstToken + tokens - 1]);
        await (Math.random() < 0.9 ? driver.release(lease) : undefined);
      }
    } catch {
      failed++;
    }
  }
}

await Promise.all([worker(), worker(), worker()]);
await driver.close();
process.send?.({ granted, failed }, () => process.disconnect());
