import { type CommandStartedEvent, MongoClient, type MongoClientOptions } from 'mongodb';
import { vi } from 'vitest';
import { MongoLockDriver } from '../../../lib/drivers/mongo/mongo-lock.driver.js';
import type { MongoLockDriverOptions } from '../../../lib/drivers/mongo/mongo-options.js';
import { LockService } from '../../../lib/lock.service.js';
import { MongoStandIn, type StandInOptions } from '../../support/mongo/stand-in.js';
import type { Document } from '../../support/mongo/values.js';

/** What a scene is made of, where it is not the usual. */
export interface SceneOptions {
  readonly server?: StandInOptions;
  readonly client?: MongoClientOptions;
  readonly driver?: Partial<MongoLockDriverOptions>;
}

// Patience for a busy machine, not a claim about speed.
vi.setConfig({ testTimeout: 60_000 });

const DATABASE = 'locks';
const COLLECTION = 'distributed.locks';

/** A stand-in, a real client of it, and a driver that is connected. */
export class Scene implements AsyncDisposable {
  /** The commands that the client has sent since the driver was connected, its own business left out. */
  readonly sent: CommandStartedEvent[] = [];
  readonly #cleanUp: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly server: MongoStandIn,
    readonly client: MongoClient,
    readonly driver: MongoLockDriver,
  ) {}

  static async start(options: SceneOptions = {}): Promise<Scene> {
    const server = await MongoStandIn.start(options.server ?? { replicaSet: 'rs' });
    const client = new MongoClient(server.url, {
      monitorCommands: true,
      serverSelectionTimeoutMS: 2000,
      heartbeatFrequencyMS: 500,
      ...options.client,
    });
    const driver = new MongoLockDriver({ db: client.db(DATABASE), ...options.driver });
    const scene = new Scene(server, client, driver);
    await driver.connect();
    await scene.#untilIndexed(options);
    client.on('commandStarted', (event) => scene.#note(event));
    return scene;
  }

  /** The names of the commands that were sent. */
  get names(): readonly string[] {
    return this.sent.map(({ commandName }) => commandName);
  }

  get documents(): Map<string, Document> {
    return this.server.commands.store.collection(DATABASE, COLLECTION).documents;
  }

  /** What the gate knows of resources. */
  get resources(): Map<string, Document> {
    return this.server.commands.store.collection(DATABASE, `${COLLECTION}_gate`).documents;
  }

  get hasIndex(): boolean {
    return this.server.commands.store.collection(DATABASE, COLLECTION).ttlIndexes.size > 0;
  }

  /** Another driver on the same database, with a client of its own. */
  async another(options: Omit<SceneOptions, 'server'> = {}): Promise<MongoLockDriver> {
    const client = new MongoClient(this.server.url, options.client);
    const driver = new MongoLockDriver({ db: client.db(DATABASE), ...options.driver });
    this.#cleanUp.push(
      () => driver.close(),
      () => client.close(),
    );
    await driver.connect();
    return driver;
  }

  /** A lock service on the driver. */
  service(): LockService {
    const service = new LockService({ driver: this.driver, drainTimeout: 0 });
    this.#cleanUp.unshift(() => service[Symbol.asyncDispose]());
    return service;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cleanUp of this.#cleanUp) {
      await cleanUp();
    }
    await this.driver.close();
    await this.client.close();
    await this.server.stop();
  }

  async #untilIndexed({ driver }: SceneOptions): Promise<void> {
    if (driver?.createIndex !== false) {
      await until('the indexes', () => this.server.log.filter(isIndex).length > 1);
    }
  }

  #note(event: CommandStartedEvent): void {
    if (!['endSessions', 'getMore', 'killCursors', 'aggregate'].includes(event.commandName)) {
      this.sent.push(event);
    }
  }
}

const isIndex = (name: string): boolean => name === 'createIndexes';

const PATIENCE = 30_000;

/** Waits for a condition. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!(await holds())) {
    if (performance.now() > deadline) {
      throw new Error(`Waited in vain for ${what}`);
    }
    await new Promise((resolve) => void setTimeout(resolve, 5));
  }
}
