import { Logger } from '@nestjs/common';
import { Owners } from '../../../lib/core/owners.js';
import type { AcquireSettings } from '../../../lib/core/acquire-settings.js';
import type { RenewRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import type { LeadershipChange } from '../../../lib/interfaces/leader-election.interface.js';
import { Campaign } from '../../../lib/leader/campaign.js';
import { LeaderLogger } from '../../../lib/leader/leader.logger.js';
import { TestEngine } from '../../support/engine.js';
import { FakeClock } from '../../support/fake-clock.js';
import { type Manner, StubDriver } from '../../support/stub-driver.js';

// Losses are what these tests are about; nobody needs to read of them.
Logger.overrideLogger(false);

export const TTL = 6000;
export const HEARTBEAT = 1000;
export const TOKEN_PERIOD = 2000;
/** What is taken off the ttl for clocks that drift. */
export const LIFE = TTL - 65;
export const KEY = 'leader:jobs';

/** A process that stands for an office, on the test's clock; what it told of its terms is kept. */
export class TermScene extends TestEngine {
  override readonly driver: StubDriver;
  readonly changes: LeadershipChange[] = [];
  readonly start: number;

  constructor(
    clock = new FakeClock(),
    driver = new StubDriver(clock, 'async'),
    readonly nodeId = 'pod-1:7',
  ) {
    super(driver, clock, { node: nodeId });
    this.driver = driver;
    this.start = clock.now();
  }

  /** Another process on the same backend and clock. */
  other(nodeId = 'pod-7:41', manner: Manner = 'async'): TermScene {
    const { backend } = this.driver;
    return new TermScene(this.clock, new StubDriver(this.clock, manner, { backend }), nodeId);
  }

  get settings(): AcquireSettings {
    return {
      ...this.defaults,
      ttl: TTL,
      wait: 30_000,
      reentrant: false,
      handover: false,
      term: { owners: new Owners(this.nodeId), heartbeat: HEARTBEAT, tokenPeriod: TOKEN_PERIOD },
    };
  }

  async stand(settings: Partial<AcquireSettings> = {}): Promise<Campaign> {
    const campaign = new Campaign({
      name: 'jobs',
      nodeId: this.nodeId,
      key: KEY,
      engine: this.engine,
      settings: { ...this.settings, ...settings },
      logger: new LeaderLogger('test'),
    });
    campaign.changes$.subscribe((change) => this.changes.push(change));
    await this.clock.settle();
    return campaign;
  }

  /** When renewals were sent, from the beginning of the scene, and whether they asked for a token. */
  get renewals(): { at: number; bumps: boolean }[] {
    return this.driver.calls
      .filter(({ operation }) => operation === 'renew')
      .map(({ at, request }) => {
        const [{ bumpToken } = {}] = request as readonly Partial<RenewRequest>[];
        return { at: at - this.start, bumps: bumpToken !== undefined };
      });
  }

  /** Why terms have ended, and `elected` where one began. */
  get story(): string[] {
    return this.changes.map((change) => (change.isLeader ? 'elected' : change.reason));
  }

  /** The last token that the backend has given. */
  get lastToken(): bigint {
    return BigInt(this.driver.inspect(KEY)?.fencingToken ?? 0);
  }
}
