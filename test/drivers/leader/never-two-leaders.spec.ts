import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Electorate } from '../../support/leader/electorate.js';
import { complaintsAbout } from '../../support/leader/judge.js';
import { reportOf } from '../../support/leader/storm-report.js';
import { Storm } from '../../support/leader/storm.js';
import { BACKENDS, useBackend } from '../../support/leader/use-backend.js';
import { Program } from '../../support/program.js';
import { Random } from '../../support/random.js';

const PROCESSES = 3;
/** More by hand: LEADER_CHANGES=200; the same again: LEADER_SEED=... */
const CHANGES = Number(process.env['LEADER_CHANGES'] ?? 25);
const SEED = Number(process.env['LEADER_SEED'] ?? Date.now() % 2 ** 32);
/** So that a change takes about half a second. */
const TTL = 500;

describe.each(BACKENDS)('leaders of several processes, on %s', (kind) => {
  const backend = useBackend(kind);
  let program: Program;

  beforeAll(async () => {
    program = await Program.build(new URL('../../process/leader-process.ts', import.meta.url));
  });
  afterAll(() => program[Symbol.asyncDispose]());

  it(
    `are never two, and each has larger tokens than all before, through ${CHANGES} forced changes`,
    async () => {
      await using electorate = await Electorate.gather(program, backend, { ttl: TTL });
      const storm = new Storm(electorate, new Random(SEED), TTL);
      await storm.gather(PROCESSES);
      await storm.rage(CHANGES);
      const terms = electorate.terms();
      const report = reportOf(storm.changes, terms);
      if (process.env['LEADER_CHANGES'] !== undefined) {
        console.log(`${kind}: LEADER_SEED=${SEED}, ${report}`);
      }
      expect(complaintsAbout(terms), `LEADER_SEED=${SEED}, ${report}`).toEqual([]);
      // Some of the struck were deposed by their own clock before they could be seen to lead.
      expect(terms.length, `LEADER_SEED=${SEED}, ${report}`).toBeGreaterThan(CHANGES / 2);
    },
    30_000 + CHANGES * 3_000,
  );
});
