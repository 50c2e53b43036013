import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deferred } from '../deferred.js';
import { Lane } from './lane.js';
import { answers, commandOf, type ProxiedCommand, repliesTo } from './proxied-command.js';
import type { ProxyRule, ProxyRules } from './proxy-rules.js';
import { type RespFrame, RespReader } from './resp-reader.js';

/** What a connection asks of its proxy. */
export interface ProxyControl {
  readonly rules: ProxyRules;
  /** How long replies are on their way, in milliseconds. */
  delay(): number;
  /** Resolves when bytes get through. */
  untilOpen(): Promise<void>;
  /** A command is about to reach the server. */
  passed(command: ProxiedCommand): void;
}

interface Sent {
  readonly command: ProxiedCommand;
  readonly rule: ProxyRule | undefined;
  /** How many messages are still to come in answer. */
  left: number;
}

const REPLICATION = /^P?SYNC$/;

/** One client's connection through the proxy: a lane for its commands, and one for the replies. */
export class ProxyConnection {
  readonly #commands = new Lane();
  readonly #replies = new Lane();
  readonly #commandReader = new RespReader();
  readonly #replyReader = new RespReader();
  /** Applied or about to be, not answered. */
  readonly #sent: Sent[] = [];
  #idle = new Deferred();
  /** A replica's connection is a stream of bytes from some point on, not of answers. */
  #isStream = false;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly proxy: ProxyControl,
  ) {
    client.on('data', (chunk) => this.#hearClient(chunk));
    server.on('data', (chunk) => this.#hearServer(chunk));
    client.on('error', () => undefined);
    server.on('error', () => undefined);
    // What was said before an end hung up is still on its way.
    client.once('close', () => this.#commands.add(() => this.#hangUp(server)));
    server.once('close', () => this.#replies.add(() => this.#hangUp(client)));
  }

  /** Whether the client is there; what it sent may outlive it. */
  get isConnected(): boolean {
    return !this.client.destroyed;
  }

  /** Both ends see the connection break; what was on its way is lost. */
  cut(): void {
    this.#commands.close();
    this.#replies.close();
    this.#idle.resolve();
    this.client.destroySoon();
    this.server.destroySoon();
  }

  #hearClient(chunk: Buffer): void {
    if (this.#isStream) {
      this.#commands.add(() => this.#write(this.server, chunk));
      return;
    }
    for (const frame of this.#commandReader.read(chunk)) {
      const command = commandOf(frame);
      this.#isStream ||= REPLICATION.test(command.name);
      this.#commands.add(() => this.#passCommand(command, frame));
    }
  }

  async #passCommand(command: ProxiedCommand, { raw }: RespFrame): Promise<void> {
    const { rules } = this.proxy;
    await rules.pass('command', command);
    await this.proxy.untilOpen();
    if (this.#commands.isClosed) {
      return;
    }
    const rule = rules.take(command);
    if (rule === undefined || rule.kind === 'cut-after') {
      this.proxy.passed(command);
      this.#sent.push({ command, rule, left: repliesTo(command) });
      this.server.write(raw);
    } else {
      await this.#intervene(rule, command);
    }
  }

  /** In the server's place, once it has answered what came before. */
  async #intervene({ kind, answer, happened }: ProxyRule, command: ProxiedCommand): Promise<void> {
    if (kind === 'cut-before') {
      this.#commands.close();
    }
    await this.#untilIdle();
    this.#replies.add(() => {
      if (kind === 'cut-before') {
        this.cut();
      } else {
        this.client.write(`-${answer}\r\n`);
      }
      happened.resolve(command);
    });
  }

  #hearServer(chunk: Buffer): void {
    if (this.#isStream) {
      this.#replies.add(() => this.#write(this.client, chunk));
      return;
    }
    for (const frame of this.#replyReader.read(chunk)) {
      const sent = this.#settle(frame);
      const arrived = performance.now();
      this.#replies.add(() => this.#passReply(sent, frame, arrived));
    }
  }

  /** Finds the command that a message answers. */
  #settle(frame: RespFrame): Sent | undefined {
    const [sent] = this.#sent;
    if (sent === undefined || !answers(frame, sent.command)) {
      return undefined;
    }
    sent.left = frame.value instanceof Error ? 0 : sent.left - 1;
    if (sent.left === 0) {
      this.#sent.shift();
    }
    if (this.#sent.length === 0) {
      this.#idle.resolve();
    }
    return sent;
  }

  async #passReply(sent: Sent | undefined, frame: RespFrame, arrived: number): Promise<void> {
    const { rules } = this.proxy;
    if (sent?.rule && !(frame.value instanceof Error)) {
      this.cut();
      sent.rule.happened.resolve(sent.command);
      return;
    }
    if (sent?.rule) {
      // The server has refused the command: nothing is applied, and the rule waits for the next.
      rules.putBack(sent.rule);
    }
    await (sent && rules.pass('reply', sent.command));
    const left = this.proxy.delay() - (performance.now() - arrived);
    await (left > 0 && sleep(left));
    await this.#write(this.client, frame.raw);
  }

  async #write(socket: Socket, bytes: Buffer): Promise<void> {
    await this.proxy.untilOpen();
    if (!socket.destroyed && !this.#replies.isClosed) {
      socket.write(bytes);
    }
  }

  async #hangUp(socket: Socket): Promise<void> {
    await this.proxy.untilOpen();
    socket.destroySoon();
  }

  #untilIdle(): Promise<void> {
    if (this.#sent.length > 0) {
      this.#idle = new Deferred();
      return this.#idle.promise;
    }
    return Promise.resolve();
  }
}
