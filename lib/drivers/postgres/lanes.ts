import type { PgConnection } from './pg-connection.js';
import type { Row } from './pg-port.js';
import type { Statement } from './statement.js';

/** Work for one connection; it takes care of its own failures. */
export type Job = (connection: PgConnection) => Promise<void>;

/** A few connections that work off one queue, each one job at a time. */
export class Lanes {
  readonly #all: readonly PgConnection[];
  /** The one that was used last is used next, so that no more are opened than are needed. */
  readonly #idle: PgConnection[];
  readonly #jobs: Job[] = [];
  #whenIdle: (() => void)[] = [];

  constructor(connections: readonly PgConnection[]) {
    this.#all = connections;
    this.#idle = [...connections];
  }

  add(job: Job): void {
    const connection = this.#idle.pop();
    if (connection === undefined) {
      this.#jobs.push(job);
    } else {
      void this.#work(connection, job);
    }
  }

  run(statement: Statement): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.add((connection) => connection.run(statement).then(resolve, reject));
    });
  }

  /** Resolves when there is nothing left to do. */
  async idle(): Promise<void> {
    if (this.#idle.length < this.#all.length) {
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    }
  }

  reopen(): void {
    this.#all.forEach((connection) => connection.reopen());
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((connection) => connection.close()));
  }

  async #work(connection: PgConnection, first: Job): Promise<void> {
    for (let job: Job | undefined = first; job !== undefined; job = this.#jobs.shift()) {
      await job(connection);
    }
    this.#idle.push(connection);
    if (this.#idle.length === this.#all.length) {
      this.#whenIdle.splice(0).forEach((tell) => tell());
    }
  }
}
