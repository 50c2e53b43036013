import type { Leadership } from '../../interfaces/leader-election.interface.js';
import { lockKey } from '../../key/lock-key.js';
import { LeaderElection } from '../../leader/leader-election.js';
import type { TestApi } from '../test-api.js';
import type { ServiceFixture } from './service-fixture.js';

/** Nobody loses his seat by a slow machine, and a token rises soon. */
const OPTIONS = { ttl: '20s', heartbeat: 200, tokenPeriod: 400 } as const;

async function resign(...candidates: readonly Leadership[]): Promise<void> {
  await Promise.all(candidates.map((candidate) => candidate.resign()));
}

/** Two processes that stand for election. */
export function describeElection({ it, expect }: TestApi, fixture: ServiceFixture): void {
  const stand = (name: string): readonly [Leadership, Leadership] => {
    const [one, two] = fixture.services.map((service, process) =>
      LeaderElection.of(service).campaign(name, { ...OPTIONS, nodeId: `node-${process}` }),
    );
    return [one as Leadership, two as Leadership];
  };
  const untilOneLeads = async (
    ...candidates: readonly Leadership[]
  ): Promise<{ leader: Leadership; token: bigint }> =>
    fixture.poll('a leader', () => {
      const leader = candidates.find(({ isLeader }) => isLeader);
      return leader === undefined ? false : { leader, token: leader.fencingToken };
    });
  it('elects one of them, and the other when that one resigns, with a larger token', async () => {
    const candidates = stand(fixture.newKey());
    const { leader, token } = await untilOneLeads(...candidates);
    const other = candidates.find((candidate) => candidate !== leader)!;
    expect(other.isLeader).toBe(false);
    const before = leader.signal;
    const resigned = leader.resign();
    expect([leader.isLeader, before.aborted]).toEqual([false, true]);
    await resigned;
    const successor = await untilOneLeads(...candidates);
    expect(successor.leader).toBe(other);
    expect(successor.token > token).toBe(true);
    await resign(...candidates);
  });

  it('raises the token of a term, by renewals that keep the lock', async () => {
    const name = fixture.newKey();
    const [leader, other] = stand(name);
    const first = await untilOneLeads(leader, other);
    let last = first.token;
    for (let raised = 0; raised < 3; raised++) {
      last = await fixture.poll('a larger token', () => {
        const { fencingToken } = first.leader;
        return fencingToken > last && fencingToken;
      });
    }
    const record = await fixture.driver.inspect(lockKey`leader:${name}`);
    expect(BigInt(record?.fencingToken ?? 0) >= last).toBe(true);
    expect(leader.isLeader !== other.isLeader).toBe(true);
    await resign(leader, other);
  });

  it('deposes a leader who has lost the lock, and elects somebody with a larger token', async () => {
    const name = fixture.newKey();
    const candidates = stand(name);
    const { leader, token } = await untilOneLeads(...candidates);
    const { signal } = leader;
    await fixture.driver.forceRelease(lockKey`leader:${name}`);
    await fixture.poll('the term to end', () => signal.aborted);
    const successor = await untilOneLeads(...candidates);
    expect(successor.token > token).toBe(true);
    await resign(...candidates);
  });
}
