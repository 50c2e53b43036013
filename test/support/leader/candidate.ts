import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type {
  CandidateSetup,
  Look,
  Note,
  Reply,
  Request,
} from '../../process/leader-process.calls.js';
import { Deferred } from '../deferred.js';
import type { Program } from '../program.js';
import { eventually } from '../redis/eventually.js';
import type { Term } from './judge.js';
import { TermLog } from './term-log.js';
import type { Wire } from './wire.js';

/** A process that stands for election, or will; it does not outlive the test. */
export class Candidate {
  /** What its campaign has told so far. */
  readonly notes: Note[] = [];
  readonly #calls = new Map<number, Deferred<unknown>>();
  readonly #child: ChildProcess;
  #last = 0;

  constructor(
    program: Program,
    readonly wire: Wire,
    private readonly setup: CandidateSetup,
  ) {
    this.#child = program.start([JSON.stringify(setup)]);
    this.#child.on('message', (message: Reply | Note) => this.#hear(message));
    this.#child.once('exit', () =>
      this.#calls.forEach(({ reject }) => reject(new Error(`${this.name} is dead`))),
    );
  }

  get name(): string {
    return this.setup.options.nodeId;
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when its driver has connected. */
  boot(): Promise<void> {
    return this.#call({ name: 'boot' });
  }

  /** Begins a campaign. */
  stand(): Promise<void> {
    return this.#call({ name: 'stand' });
  }

  look(): Promise<Look> {
    return this.#call({ name: 'look' });
  }

  resign(): Promise<void> {
    return this.#call({ name: 'resign' });
  }

  /** Writes its name to the ledger as its leader; resolves to what became of that. */
  write(how: { readonly gated: boolean; readonly stops: boolean }): Promise<string> {
    return this.#call({ name: 'write', ...how });
  }

  /** Its last election, if it has won one and was not told of the end of that term. */
  get election(): Note | undefined {
    const last = this.notes.at(-1);
    return last?.note === 'elected' ? last : undefined;
  }

  /** Resolves when it leads. */
  async elected(): Promise<Note> {
    await eventually(`${this.name} is elected`, () => this.election !== undefined);
    return this.election as Note;
  }

  /** Resolves when it stands still: it stops itself, or is stopped. */
  async stopped(): Promise<void> {
    await eventually(`${this.name} is stopped`, async () =>
      / T /.test(await readFile(`/proc/${this.#child.pid}/stat`, 'utf8')),
    );
  }

  async pause(): Promise<void> {
    this.#child.kill('SIGSTOP');
    await this.stopped();
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Without a word of warning, also if it is stopped. */
  async kill(): Promise<void> {
    if (this.isAlive) {
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exited;
    }
  }

  /** Its terms as it saw them itself, also after its end. */
  terms(): Term[] {
    return TermLog.read(this.setup.log).map((term) => ({ candidate: this.name, ...term }));
  }

  async #call<T>(request: Request): Promise<T> {
    const id = ++this.#last;
    const reply = new Deferred<unknown>();
    this.#calls.set(id, reply);
    this.#child.send({ ...request, id });
    return (await reply.promise) as T;
  }

  #hear(message: Reply | Note): void {
    if ('note' in message) {
      this.notes.push(message);
    } else {
      this.#take(message);
    }
  }

  #take({ id, value, error }: Reply): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) {
      call?.resolve(value);
    } else {
      call?.reject(new Error(`${this.name}: ${error}`));
    }
  }
}
