import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { ObjectId } from 'bson';
import { Commands } from './commands.js';
import { type Fault, Faults } from './faults.js';
import { type Document, ServerError } from './values.js';
import { encodeAnswer, type Message, MessageReader } from './wire.js';

/** What kind of server to play. */
export interface StandInOptions {
  /** The name of the replica set whose only member it is; without it, it is a server of its own. */
  readonly replicaSet?: string;
  /**
   * Which versions of MongoDB it speaks like.
   * @default 21, which is 7.0
   */
  readonly maxWireVersion?: number;
}

/** Errors after which a write or a change stream may be tried again, which the server says by a label. */
const TRANSIENT = new Set([6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/**
 * Stands in for a MongoDB server: it speaks the wire protocol, carries out what the driver needs as the manual
 * describes it, and refuses everything else. It shows that the driver is wired up rightly, and how it takes failures. It
 * does not show what MongoDB does.
 */
export class MongoStandIn implements AsyncDisposable {
  readonly faults = new Faults();
  readonly commands: Commands;
  /** The names of the commands that came, except those by which clients look after their connections. */
  readonly log: string[] = [];
  /** The server's clock in milliseconds. */
  clock: () => number = Date.now;
  /** False: as after a step-down, until it is true again. */
  isPrimary = true;
  readonly #options: StandInOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #electionId = new ObjectId();
  #ahead = 0;

  private constructor(options: StandInOptions) {
    this.#options = options;
    const { replicaSet, maxWireVersion = 21 } = options;
    this.commands = new Commands({ replicaSet, maxWireVersion });
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(options: StandInOptions = {}): Promise<MongoStandIn> {
    const standIn = new MongoStandIn(options);
    await standIn.#listen(0);
    return standIn;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    const { replicaSet } = this.#options;
    const query = replicaSet === undefined ? '?directConnection=true' : `?replicaSet=${replicaSet}`;
    return `mongodb://127.0.0.1:${this.port}/${query}`;
  }

  /** The server's time. */
  get now(): Date {
    return new Date(this.clock() + this.#ahead);
  }

  /** Puts the server's clock forward, or back. */
  advance(ms: number): void {
    this.#ahead += ms;
  }

  /** Removes what has outlived its TTL index. */
  purge(): void {
    this.commands.store.purge(this.now);
  }

  /** Ends all connections, as a server that goes down does; clients may come again. */
  cutAll(): void {
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }

  async stop(): Promise<void> {
    this.cutAll();
    if (this.#server.listening) {
      this.#server.close();
      await once(this.#server, 'close');
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  #serve(socket: Socket): void {
    const reader = new MessageReader();
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      for (const message of reader.read(chunk)) {
        void this.#answer(socket, message);
      }
    });
  }

  async #answer(socket: Socket, message: Message): Promise<void> {
    const [name = ''] = Object.keys(message.command);
    if (/^(hello|ismaster)$/i.test(name)) {
      this.#send(socket, message, { ...this.#hello(message.command), ok: 1 });
      return;
    }
    if (name !== 'endSessions') {
      this.log.push(name);
    }
    const fault = this.faults.take(name);
    if (fault?.kind === 'delay') {
      await fault.until;
    }
    if (hits(fault, 'before')) {
      this.#silence(socket, fault);
      return;
    }
    const answer = await this.#outcome(message.command, fault);
    if (hits(fault, 'after')) {
      this.#silence(socket, fault);
    } else {
      this.#send(socket, message, answer);
    }
  }

  #silence(socket: Socket, fault: Fault | undefined): void {
    if (fault?.kind === 'cut') {
      socket.destroy();
    }
  }

  #send(socket: Socket, message: Message, answer: Document): void {
    if (message.wantsAnswer && socket.writable) {
      socket.write(encodeAnswer(message, answer));
    }
  }

  /** Each command sees the time at which it begins. */
  async #outcome(command: Document, fault: Fault | undefined): Promise<Document> {
    try {
      if (fault?.kind === 'error') {
        throw new ServerError(fault.code, fault.codeName, `planned: ${fault.codeName}`, fault.more);
      }
      if (!this.isPrimary) {
        throw new ServerError(10107, 'NotWritablePrimary', 'not primary');
      }
      const answer = await this.commands.run(command, this.now);
      return { ...answer, ...concern(fault), ok: 1 };
    } catch (error) {
      return failure(error, command);
    }
  }

  #hello({ helloOk }: Document): Document {
    const { replicaSet, maxWireVersion = 21 } = this.#options;
    const me = `127.0.0.1:${this.port}`;
    const member = {
      setName: replicaSet,
      setVersion: 1,
      electionId: this.#electionId,
      hosts: [me],
      me,
      secondary: !this.isPrimary,
      ...(this.isPrimary && { primary: me }),
    };
    return {
      ...(helloOk === true && { helloOk: true }),
      ismaster: this.isPrimary,
      isWritablePrimary: this.isPrimary,
      maxBsonObjectSize: 16 * 1024 * 1024,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
      localTime: this.now,
      logicalSessionTimeoutMinutes: 30,
      minWireVersion: 0,
      maxWireVersion,
      readOnly: false,
      ...(replicaSet !== undefined && member),
    };
  }
}

function hits(fault: Fault | undefined, when: 'before' | 'after'): boolean {
  return (fault?.kind === 'cut' || fault?.kind === 'hang') && fault.when === when;
}

function concern(fault: Fault | undefined): Document {
  if (fault?.kind !== 'writeConcernError') {
    return {};
  }
  const { code, codeName } = fault;
  return { writeConcernError: { code, codeName, errmsg: `planned: ${codeName}`, errInfo: {} } };
}

function failure(error: unknown, command: Document): Document {
  const { code, codeName, message, more } =
    error instanceof ServerError ? error : new ServerError(8, 'UnknownError', String(error));
  return { ok: 0, code, codeName, errmsg: message, ...more, ...labels(code, command) };
}

/** Since 4.4 the server says itself what may be tried again. */
function labels(code: number, command: Document): Document {
  const errorLabels = TRANSIENT.has(code)
    ? [
        ...('txnNumber' in command ? ['RetryableWriteError'] : []),
        ...('getMore' in command ? ['ResumableChangeStreamError'] : []),
      ]
    : [];
  return errorLabels.length > 0 ? { errorLabels } : {};
}
