import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { AcquireSettings } from '../core/acquire-settings.js';
import { systemClock, type Timer } from '../core/clock.js';
import { Owners } from '../core/owners.js';
import { LockClosedError } from '../errors/lock-closed.error.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import type { CampaignOptions, Leadership } from '../interfaces/leader-election.interface.js';
import { lockKey } from '../key/lock-key.js';
import type { LockService } from '../lock.service.js';
import {
  type CampaignSettings,
  completeCampaign,
  mergeCampaign,
} from '../options/resolve-campaign.js';
import { text } from '../options/text-parsers.js';
import { Campaign, type TermListener } from './campaign.js';
import { leaderElectionName } from './leader-election.name.js';
import { LeaderLogger } from './leader.logger.js';
import { reclaimSeat } from './reclaim-seat.js';

/** How long a candidate waits before it tells the operator that the backend fails, if it does. */
const PATIENCE = 30_000;

/** A campaign of this process, and the settings that it goes by. */
interface Running {
  readonly campaign: Campaign;
  readonly settings: CampaignSettings;
}

const elections = new WeakMap<LockService, LeaderElection>();

/** Elects one of all processes that stand for the same name; who holds the lock `leader:<name>` is its leader. */
@Injectable()
export class LeaderElection implements BeforeApplicationShutdown, AsyncDisposable {
  private readonly logger: LeaderLogger;
  private readonly running = new Map<string, Running>();
  private readonly listeners = new Map<string, TermListener[]>();
  /** Name the candidates of this process, one campaign after another, by their node. */
  private readonly owners = new Map<string, Owners>();
  private isClosed = false;
  /**
   * Whether an application has yet to begin the campaigns that it declares.
   * @internal
   */
  awaitsStart = false;

  private constructor(private readonly locks: LockService) {
    this.logger = new LeaderLogger(leaderElectionName(locks.options.name));
  }

  /** The election that stands on the locks of this service: there is one, or a process would stand against itself. */
  static of(locks: LockService): LeaderElection {
    let election = elections.get(locks);
    if (election === undefined) {
      elections.set(locks, (election = new LeaderElection(locks)));
    }
    return election;
  }

  /**
   * Stands for election, from now until `resign()` or shutdown. Where this process already does so under the same
   * `nodeId`, that campaign is given.
   */
  campaign(name: string, options: CampaignOptions = {}): Leadership {
    return this.stand(name, options);
  }

  /**
   * The campaign of this process for a name, if there is one: that which leads, or else one that may yet do so.
   * @internal
   */
  find(name: string): Campaign | undefined {
    const campaigns = this.campaignsFor(name);
    return (
      campaigns.find(({ isLeader }) => isLeader) ??
      campaigns.find(({ isOver }) => !isOver) ??
      campaigns[0]
    );
  }

  /**
   * Tells of the terms of all campaigns of this process for a name, present and future.
   * @internal
   */
  listen(name: string, listener: TermListener): void {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
    this.campaignsFor(name).forEach((campaign) => campaign.listen(listener));
  }

  /**
   * The settings of such a campaign; throws `LockConfigError` if there cannot be one.
   * @internal
   */
  check(name: string, options: CampaignOptions): CampaignSettings {
    const { leader, node, clockSkew, defaults } = this.locks.options;
    text(name, 'name');
    return completeCampaign(mergeCampaign(leader, options), { node, clockSkew, ttl: defaults.ttl });
  }

  /** @internal */
  stand(name: string, options: CampaignOptions = {}): Campaign {
    const settings = this.check(name, options);
    // With its namespace, which may be another at each call: the leader of one tenant is not that of the next.
    const key = this.locks.keys.one(lockKey`leader:${name}`);
    const id = JSON.stringify([key, settings.nodeId]);
    const other = this.running.get(id);
    // While the application shuts down, whoever asks for the leader of then is told that this is not it any more.
    if (other !== undefined && (!other.campaign.isOver || this.isClosed)) {
      assertSame(name, other.settings, settings, options);
      return other.campaign;
    }
    if (this.isClosed) {
      throw new LockClosedError(`Nobody stands for ${name}: the application is shutting down`);
    }
    const campaign = this.start(name, key, settings);
    this.running.set(id, { campaign, settings });
    return campaign;
  }

  /**
   * Resigns from all that this process leads, while locks are still given back; before the application closes. What
   * outlasts `drainTimeout` keeps its seat until its ttl ends it.
   */
  async beforeApplicationShutdown(): Promise<void> {
    this.isClosed = true;
    const campaigns = [...this.running.values()].map(({ campaign }) => campaign);
    const resigned = Promise.all(campaigns.map((campaign) => campaign.resign()));
    await orAfter(this.locks.options.drainTimeout, resigned);
  }

  /** Resigns where there is no Nest application to do it; the lock service is to be shut down after it. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.beforeApplicationShutdown();
  }

  private campaignsFor(name: string): Campaign[] {
    return [...this.running.values()]
      .map(({ campaign }) => campaign)
      .filter((campaign) => campaign.name === name);
  }

  private ownersOf(nodeId: string): Owners {
    const owners = this.owners.get(nodeId) ?? new Owners(nodeId);
    this.owners.set(nodeId, owners);
    return owners;
  }

  private start(name: string, key: string, settings: CampaignSettings): Campaign {
    const { engine, options } = this.locks;
    const { nodeId, ttl, heartbeat, tokenPeriod } = settings;
    const owners = this.ownersOf(nodeId);
    const term: AcquireSettings = {
      ...options.defaults,
      ttl,
      wait: Math.max(ttl, PATIENCE),
      autoExtend: true,
      reentrant: false,
      minHold: 0,
      maxHold: Infinity,
      maxWaiters: Infinity,
      handover: false,
      term: { owners, heartbeat, tokenPeriod },
    };
    const campaign = new Campaign({
      name,
      nodeId,
      key,
      engine,
      settings: term,
      logger: this.logger,
    });
    this.listeners.get(name)?.forEach((listener) => campaign.listen(listener));
    if (settings.reclaim) {
      reclaimSeat(options.driver, { key, nodeId, owners }).catch((error: unknown) =>
        this.logger.reclaimFailed(campaign, error),
      );
    }
    return campaign;
  }
}

/** Waits for something that does not fail, and no longer than so many milliseconds. */
async function orAfter(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: Timer;
  const over = new Promise<void>((resolve) => (timer = systemClock.setTimeout(resolve, ms)));
  await Promise.race([work, over]);
  systemClock.clearTimeout(timer!);
}

/** Whoever gives options expects them to hold. */
function assertSame(
  name: string,
  running: CampaignSettings,
  asked: CampaignSettings,
  options: CampaignOptions,
): void {
  const differing = (Object.keys(asked) as (keyof CampaignSettings)[]).filter(
    (option) => options[option] !== undefined && asked[option] !== running[option],
  );
  if (differing.length > 0) {
    throw new LockConfigError(
      `This process stands for ${name} already, with another ${differing.join(', ')}: give all its campaigns the same options, or ` +
        `each a \`nodeId\` of its own`,
    );
  }
}
