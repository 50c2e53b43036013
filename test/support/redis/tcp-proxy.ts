import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Deferred } from '../deferred.js';
import { onFreePort } from './free-port.js';
import { type CommandMatch, matches, type ProxiedCommand } from './proxied-command.js';
import { ProxyConnection, type ProxyControl } from './proxy-connection.js';
import { type ProxyHold, ProxyRules } from './proxy-rules.js';

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const HOST = '127.0.0.1';
const ANY = (): boolean => true;

/** Stands between clients and a server: counts the commands that pass, and lets go wrong what a test wants to. */
export class TcpProxy implements AsyncDisposable {
  readonly #rules = new ProxyRules();
  readonly #counts = new Map<string, number>();
  readonly #connections = new Set<ProxyConnection>();
  readonly #awaited = new Map<Deferred<ProxiedCommand>, CommandMatch>();
  readonly #control: ProxyControl = {
    rules: this.#rules,
    delay: () => this.#delay,
    untilOpen: () => this.#open?.promise ?? Promise.resolve(),
    passed: (command) => this.#count(command),
  };
  #server: Server | undefined;
  #open: Deferred | undefined;
  #delay = 0;

  private constructor(
    readonly port: number,
    private readonly target: Endpoint,
  ) {}

  static start(target: Endpoint): Promise<TcpProxy> {
    return onFreePort(async (port) => {
      const proxy = new TcpProxy(port, target);
      await proxy.accept();
      return proxy;
    });
  }

  get host(): string {
    return HOST;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** How many clients are connected. */
  get connections(): number {
    return [...this.#connections].filter(({ isConnected }) => isConnected).length;
  }

  /** How many commands have passed, by their names in capitals. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** How many commands of a name have passed, or of all names. */
  count(name?: string): number {
    return name === undefined
      ? [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
      : (this.#counts.get(name.toUpperCase()) ?? 0);
  }

  resetCounts(): void {
    this.#counts.clear();
  }

  /** Resolves when the next such command goes to the server. */
  next(match: CommandMatch): Promise<ProxiedCommand> {
    const passed = new Deferred<ProxiedCommand>();
    this.#awaited.set(passed, match);
    return passed.promise;
  }

  /** Breaks all connections now, with all that is held. */
  cutAll(): void {
    this.#connections.forEach((connection) => connection.cut());
  }

  /** Breaks the connection of the next such command, which never reaches the server; resolves when it did. */
  cutBefore(match: CommandMatch): Promise<ProxiedCommand> {
    return this.#rules.add('cut-before', match);
  }

  /** Breaks the connection of the next such command, which the server has applied; its reply is lost. */
  cutAfter(match: CommandMatch): Promise<ProxiedCommand> {
    return this.#rules.add('cut-after', match);
  }

  /** Answers the next such command with an error, such as `LOADING ...`; it never reaches the server. */
  answer(match: CommandMatch, error: string): Promise<ProxiedCommand> {
    return this.#rules.add('answer', match, error);
  }

  /** Keeps such commands from the server, and all that comes after them, even if the client hangs up. */
  holdCommands(match: CommandMatch = ANY): ProxyHold {
    return this.#rules.hold('command', match);
  }

  /** Keeps the replies to such commands from the client, and all that comes after them; the server has applied them. */
  holdReplies(match: CommandMatch = ANY): ProxyHold {
    return this.#rules.hold('reply', match);
  }

  /** Lets each reply take this many milliseconds longer; 0 ends it. */
  delayReplies(ms: number): void {
    this.#delay = ms;
  }

  /** Accepts connections and bytes, and passes on none; the network is back with {@link heal}. */
  blackHole(): void {
    this.#open ??= new Deferred();
  }

  /** What was sent into the black hole arrives, late. Cut first for it to be lost. */
  heal(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  /** Refuses new connections from now on; those that are there stay. */
  refuse(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Takes new connections again, on the same port. */
  async accept(): Promise<void> {
    if (this.#server === undefined) {
      const server = createServer({ noDelay: true }, (client) => this.#connect(client));
      server.listen(this.port, HOST);
      await once(server, 'listening');
      this.#server = server;
    }
  }

  stop(): Promise<void> {
    this.refuse();
    this.cutAll();
    this.heal();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #connect(client: Socket): void {
    const { host, port } = this.target;
    const server = connect({ host, port, noDelay: true });
    const connection = new ProxyConnection(client, server, this.#control);
    this.#connections.add(connection);
    server.once('close', () => this.#connections.delete(connection));
  }

  #count(command: ProxiedCommand): void {
    this.#counts.set(command.name, this.count(command.name) + 1);
    for (const [passed, match] of this.#awaited) {
      if (matches(match, command)) {
        this.#awaited.delete(passed);
        passed.resolve(command);
      }
    }
  }
}
