import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CampaignOptions } from '../../../lib/interfaces/leader-election.interface.js';
import type { RetryOptions } from '../../../lib/interfaces/lock-options.interface.js';
import type { LockRecord } from '../../../lib/interfaces/lock-driver.interface.js';
import type { Program } from '../program.js';
import { Candidate } from './candidate.js';
import type { Term } from './judge.js';
import type { Backend } from './use-backend.js';
import { Wire } from './wire.js';

/** How all of them stand. */
export interface ElectorateOptions extends CampaignOptions {
  readonly retry?: RetryOptions;
}

/** All processes that stand for one office, each behind a wire of its own. */
export class Electorate implements AsyncDisposable {
  readonly office = `office-${randomUUID()}`;
  readonly #candidates: Candidate[] = [];
  readonly #wires: Wire[] = [];

  private constructor(
    private readonly program: Program,
    private readonly backend: Backend,
    private readonly options: ElectorateOptions,
    private readonly folder: string,
  ) {}

  static async gather(
    program: Program,
    backend: Backend,
    options: ElectorateOptions,
  ): Promise<Electorate> {
    const folder = await mkdtemp(join(tmpdir(), 'electorate-'));
    return new Electorate(program, backend, options, folder);
  }

  /** Another process under this `nodeId`, ready to stand. */
  async candidate(nodeId: string, options: CampaignOptions = {}): Promise<Candidate> {
    const { retry, ...common } = this.options;
    const wire = await Wire.start(this.backend.endpoint);
    this.#wires.push(wire);
    const candidate = new Candidate(this.program, wire, {
      backend: this.backend.kind,
      url: this.backend.urlOver(wire),
      office: this.office,
      options: { ...common, ...options, nodeId },
      ...(retry && { retry }),
      log: join(this.folder, `${this.#wires.length}`),
    });
    this.#candidates.push(candidate);
    await candidate.boot();
    return candidate;
  }

  /** Who has the seat, as the server knows it. */
  seat(): Promise<LockRecord | null> {
    return this.backend.seat(this.office);
  }

  /** What leaders have written, in its order. */
  ledger(): Promise<readonly string[]> {
    return this.backend.ledger(this.office);
  }

  /** All terms so far, of all processes that ever stood. */
  terms(): Term[] {
    return this.#candidates.flatMap((candidate) => candidate.terms());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#candidates.map((candidate) => candidate.kill()));
    await Promise.all(this.#wires.map((wire) => wire[Symbol.asyncDispose]()));
    await rm(this.folder, { recursive: true, force: true });
  }
}
