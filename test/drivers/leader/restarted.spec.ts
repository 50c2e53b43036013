import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Candidate } from '../../support/leader/candidate.js';
import { Electorate } from '../../support/leader/electorate.js';
import { complaintsAbout } from '../../support/leader/judge.js';
import { BACKENDS, useBackend } from '../../support/leader/use-backend.js';
import { Program } from '../../support/program.js';
import { eventually } from '../../support/redis/eventually.js';

/** The server tells what is left of a ttl in whole milliseconds. */
const ROUNDED = 2;

describe.each(BACKENDS)('a process that is restarted under its old name, on %s', (kind) => {
  const backend = useBackend(kind);
  let program: Program;

  beforeAll(async () => {
    program = await Program.build(new URL('../../process/leader-process.ts', import.meta.url));
  });
  afterAll(() => program[Symbol.asyncDispose]());

  it('waits for the ttl of its old self, which finds itself deposed and renews nothing', async () => {
    await using electorate = await Electorate.gather(program, backend, { ttl: 2_000 });
    const old = await standing(electorate);
    const first = await old.elected();
    await stopWithARenewalUnderWay(old);

    const asked = now();
    const seat = (await electorate.seat())!;
    const restarted = await standing(electorate);
    const second = await restarted.elected();
    expect(second.at).toBeGreaterThan(asked + seat.remaining - ROUNDED);
    expect(Number(second.about)).toBeGreaterThan(Number(first.about));

    old.resume();
    expect((await old.look()).isLeader).toBe(false);
    await eventually('it is told', () => old.election === undefined);
    await letItsRenewalArrive(old);
    const { owner } = (await electorate.seat())!;
    await eventually('the other one is renewed', () => isNewer(electorate, second.about));
    expect(owner).not.toBe(seat.owner);
    expect(await electorate.seat()).toMatchObject({ owner });
    expect(restarted.notes).toEqual([second]);
    expect(complaintsAbout(electorate.terms())).toEqual([]);
  });

  it('takes over at once if it reclaims the seat, with a larger token', async () => {
    await using electorate = await Electorate.gather(program, backend, {
      ttl: '60s',
      heartbeat: '1s',
      reclaim: true,
    });
    const old = await standing(electorate);
    const first = await old.elected();
    await old.pause();

    const asked = now();
    const { remaining, owner } = (await electorate.seat())!;
    const restarted = await standing(electorate);
    const second = await restarted.elected();
    expect(second.at - asked).toBeLessThan(remaining / 2);
    expect(Number(second.about)).toBeGreaterThan(Number(first.about));

    old.resume();
    await eventually('it is deposed', () => old.election === undefined);
    expect(old.notes.at(-1)).toMatchObject({ note: 'deposed', about: 'taken' });
    const seat = await electorate.seat();
    expect(seat?.owner).not.toBe(owner);
    expect(restarted.notes).toEqual([second]);
  });
});

/** All of one name. */
async function standing(electorate: Electorate): Promise<Candidate> {
  const candidate = await electorate.candidate('node-1');
  await candidate.stand();
  return candidate;
}

async function stopWithARenewalUnderWay(leader: Candidate): Promise<void> {
  leader.wire.silence();
  await eventually('a renewal is under way', () => leader.wire.stuck > 0);
  await leader.pause();
}

/** Resolves when it is answered. */
async function letItsRenewalArrive({ wire }: Candidate): Promise<void> {
  const { delivered } = wire;
  await wire.heal();
  await eventually('the server has answered', () => wire.delivered > delivered);
}

/** Whether the leader's token was raised since. */
async function isNewer(electorate: Electorate, token: string): Promise<boolean> {
  const seat = await electorate.seat();
  return Number(seat?.fencingToken ?? 0) > Number(token);
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
