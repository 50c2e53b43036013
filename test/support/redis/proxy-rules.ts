import { Deferred } from '../deferred.js';
import { type CommandMatch, matches, type ProxiedCommand } from './proxied-command.js';

/** What happens to one command: its connection is cut before or after it is applied, or the proxy answers in the server's place. */
export interface ProxyRule {
  readonly kind: 'cut-before' | 'cut-after' | 'answer';
  readonly match: CommandMatch;
  readonly happened: Deferred<ProxiedCommand>;
  readonly answer?: string;
}

/** Commands, or their replies, that wait in the proxy. */
export class ProxyHold implements Disposable {
  readonly #caught: ProxiedCommand[] = [];
  readonly #first = new Deferred<ProxiedCommand>();
  readonly #released = new Deferred();

  constructor(
    readonly what: 'command' | 'reply',
    readonly match: CommandMatch,
    private readonly forget: (hold: ProxyHold) => void,
  ) {}

  /** The first command that is held. */
  get first(): Promise<ProxiedCommand> {
    return this.#first.promise;
  }

  /** All that were held so far. */
  get caught(): readonly ProxiedCommand[] {
    return this.#caught;
  }

  /** Lets go what is held, and holds no more. */
  release(): void {
    this.forget(this);
    this.#released.resolve();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** Resolves when the command may go on. */
  catch(command: ProxiedCommand): Promise<void> {
    this.#caught.push(command);
    this.#first.resolve(command);
    return this.#released.promise;
  }
}

/** All that a proxy is told to do with the commands that pass. */
export class ProxyRules {
  readonly #rules: ProxyRule[] = [];
  readonly #holds = new Set<ProxyHold>();

  add(kind: ProxyRule['kind'], match: CommandMatch, answer?: string): Promise<ProxiedCommand> {
    const happened = new Deferred<ProxiedCommand>();
    this.#rules.push({ kind, match, happened, ...(answer !== undefined && { answer }) });
    return happened.promise;
  }

  hold(what: ProxyHold['what'], match: CommandMatch): ProxyHold {
    const hold = new ProxyHold(what, match, (done) => this.#holds.delete(done));
    this.#holds.add(hold);
    return hold;
  }

  /** The oldest rule that the command meets; it is good for one command only. */
  take(command: ProxiedCommand): ProxyRule | undefined {
    const index = this.#rules.findIndex(({ match }) => matches(match, command));
    return index < 0 ? undefined : this.#rules.splice(index, 1)[0];
  }

  /** For the next command after all. */
  putBack(rule: ProxyRule): void {
    this.#rules.unshift(rule);
  }

  /** Resolves when nothing holds the command, or its reply. */
  async pass(what: ProxyHold['what'], command: ProxiedCommand): Promise<void> {
    const holds = [...this.#holds].filter((hold) => hold.what === what);
    await Promise.all(
      holds.filter(({ match }) => matches(match, command)).map((hold) => hold.catch(command)),
    );
  }
}
