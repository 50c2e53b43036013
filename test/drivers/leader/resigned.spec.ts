import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Note } from '../../process/leader-process.calls.js';
import type { Candidate } from '../../support/leader/candidate.js';
import { Electorate } from '../../support/leader/electorate.js';
import { complaintsAbout } from '../../support/leader/judge.js';
import { BACKENDS, type Backend, useBackend } from '../../support/leader/use-backend.js';
import { Program } from '../../support/program.js';
import { eventually } from '../../support/redis/eventually.js';

const TTL = 30_000;
/** Nobody comes back by himself in the time of a test. */
const NO_POLLS = { min: '60s', max: '60s' } as const;
/** More by hand, with the times that they took: LEADER_CHANGES=200. */
const CHANGES = Number(process.env['LEADER_CHANGES'] ?? 3);

describe.each(BACKENDS)('a leader that resigns, on %s', (kind) => {
  const backend = useBackend(kind);
  let program: Program;

  beforeAll(async () => {
    program = await Program.build(new URL('../../process/leader-process.ts', import.meta.url));
  });
  afterAll(() => program[Symbol.asyncDispose]());

  it(
    'is followed at once: by one notice and one request, and not by a poll or its ttl',
    async () => {
      const options = { ttl: TTL, retry: NO_POLLS };
      await using electorate = await Electorate.gather(program, backend, options);
      let leader = await electorate.candidate('node-0');
      await leader.stand();
      await leader.elected();
      const took: number[] = [];
      for (let i = 1; i <= CHANGES; i++) {
        const successor = await electorate.candidate(`node-${i}`);
        await standAndWait(successor);
        await leader.resign();
        const { at } = await successor.elected();
        const resigned = leader.notes.at(-1) as Note;
        expect(resigned).toMatchObject({ note: 'deposed', about: 'resigned' });
        took.push(at - resigned.at);
        expect(await successor.look()).toMatchObject({ asked: 4, told: 2 });
        await leader.kill();
        leader = successor;
      }
      expect(Math.max(...took)).toBeLessThan(TTL / 10);
      expect(complaintsAbout(electorate.terms())).toEqual([]);
      if (process.env['LEADER_CHANGES'] !== undefined) {
        console.log(await reportOf(took, backend, electorate.office));
      }
    },
    30_000 + CHANGES * 3_000,
  );
});

/** It tries, listens, and tries again; when it is heard for sure it tries once more, and only waits from then on. */
async function standAndWait(candidate: Candidate): Promise<void> {
  await candidate.stand();
  await eventually('it waits', async () => {
    const { asked, answered, told } = await candidate.look();
    return asked === 3 && answered === 3 && told === 1;
  });
}

/** How long changes took, and how long one question and its answer take, from this process. */
async function reportOf(
  took: readonly number[],
  backend: Backend,
  office: string,
): Promise<string> {
  const roundTrips: number[] = [];
  for (let i = 0; i < took.length; i++) {
    const from = now();
    await backend.seat(office);
    roundTrips.push(now() - from);
  }
  return `${backend.kind}: a successor after ${spread(took)}; a round trip takes ${spread(roundTrips)}`;
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): string => (sorted[Math.floor(part * sorted.length)] ?? NaN).toFixed(2);
  return `${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(0.999)} ms (longest)`;
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
