import { vi } from 'vitest';
import { ClusteredOperation } from '../../../../lib/drivers/redis/clustered-operation.js';
import {
  type Operation,
  type OperationDefinition,
  ScriptedOperation,
} from '../../../../lib/drivers/redis/scripted-operation.js';
import { Script } from '../../../../lib/drivers/redis/scripts.js';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { Random } from '../../../support/random.js';
import { type FakeCall, FakeRunner } from './fake-runner.js';
import { microtasks } from './microtasks.js';
import { serverError } from './operation-scene.js';

interface Numbered {
  readonly key: string;
  readonly kind: number;
  readonly id: number;
}

const slotOf = (key: string): number => Number(key.split(':')[1]);

/**
 * One random run of an operation: requests of several kinds for several slots come, time passes, and calls are answered in any order, well or badly.
 * Collects what went against the rules.
 */
export class Interleaving {
  readonly violations: string[] = [];
  readonly #random: Random;
  readonly #runner = new FakeRunner();
  readonly #operation: Operation<Numbered, string>;
  readonly #limit: number;
  readonly #open: FakeCall[] = [];
  readonly #requests = new Map<number, Numbered>();
  /** The call that a request is in, while that is not answered. */
  readonly #under = new Map<number, FakeCall>();
  /** How each request was answered by the server: by a text, or by an error. */
  readonly #expected = new Map<number, string | Error>();
  /** What came of it. */
  readonly #answered = new Map<number, string | Error>();

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#limit = this.#random.int(1, 5);
    this.#runner.onRun = (call) => this.#check(call);
    const definition: OperationDefinition<Numbered, string> = {
      script: new Script('return {}'),
      runner: this.#runner,
      limit: this.#limit,
      fits: (one, other) => one.kind === other.kind,
      args: (requests) => requests.map(({ id }) => String(id)),
      answers: (reply) => reply.map((one) => (one instanceof Error ? one : String(one))),
    };
    const create = (): Operation<Numbered, string> => new ScriptedOperation(definition, 'lock');
    this.#operation = this.#random.chance(0.5) ? new ClusteredOperation(slotOf, create) : create();
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.#step();
    }
    while (this.#open.length > 0 || this.#answered.size < this.#requests.size) {
      const before = this.#answered.size + this.#runner.calls.length;
      this.#open.splice(0).forEach((call) => this.#answerWell(call));
      await vi.advanceTimersByTimeAsync(2);
      if (this.#open.length === 0 && before === this.#answered.size + this.#runner.calls.length) {
        break;
      }
    }
    this.#judge();
  }

  async #step(): Promise<void> {
    const dice = this.#random.next();
    if (dice < 0.35) {
      this.#ask();
    } else if (dice < 0.42) {
      this.#askAll();
    } else if (dice < 0.75 && this.#open.length > 0) {
      const [call] = this.#open.splice(this.#random.int(0, this.#open.length - 1), 1);
      this.#answer(call!);
    } else if (dice < 0.9) {
      await microtasks();
    } else {
      await vi.advanceTimersByTimeAsync(this.#random.int(0, 2));
    }
  }

  #request(): Numbered {
    const id = this.#requests.size;
    const key = `:${this.#random.int(1, 3)}:${this.#random.int(1, 4)}`;
    const request = { key, kind: this.#random.int(1, 2), id };
    this.#requests.set(id, request);
    return request;
  }

  #ask(): void {
    const request = this.#request();
    const note = (answer: string | Error): void => this.#note(request.id, answer);
    this.#operation.ask(request).then(note, note);
  }

  #askAll(): void {
    const requests = Array.from({ length: this.#random.int(0, 8) }, () => this.#request());
    void this.#noteAll(requests, this.#operation.askAll(requests));
  }

  async #noteAll(requests: readonly Numbered[], asked: Promise<(string | Error)[]>): Promise<void> {
    const answers = await asked;
    if (answers.length !== requests.length) {
      this.violations.push(`${answers.length} answers to ${requests.length} requests`);
    }
    answers.forEach((answer, index) => this.#note(requests[index]!.id, answer));
  }

  #note(id: number, answer: string | Error): void {
    if (this.#answered.has(id)) {
      this.violations.push(`request ${id} was answered twice`);
    }
    this.#answered.set(id, answer);
  }

  #check(call: FakeCall): void {
    const requests = call.args.map((id) => this.#requests.get(Number(id))!);
    const names = requests.map(({ key }) => `lock${key}`);
    if (call.keys.join() !== names.join()) {
      this.violations.push(`keys ${call.keys.join()} with the arguments of ${names.join()}`);
    }
    if (requests.length === 0 || requests.length > this.#limit) {
      this.violations.push(`a call with ${requests.length} keys`);
    }
    if (new Set(requests.map(({ kind }) => kind)).size > 1) {
      this.violations.push('a call with requests that do not fit');
    }
    if (this.#operation instanceof ClusteredOperation && slotsOf(requests).size > 1) {
      this.violations.push('a call with keys of several slots');
    }
    for (const { id } of requests) {
      if (this.#under.has(id) || this.#expected.has(id)) {
        this.violations.push(`request ${id} was sent twice`);
      }
      this.#under.set(id, call);
    }
    this.#open.push(call);
  }

  #answer(call: FakeCall): void {
    const dice = this.#random.next();
    if (dice < 0.7) {
      this.#answerWell(call);
    } else if (dice < 0.8) {
      this.#fail(call, serverError('CLUSTERDOWN'), () => call.fail(serverError('CLUSTERDOWN')));
    } else if (dice < 0.85) {
      this.#fail(call, new LockDriverError('no list'), () => call.answer('no list'));
    } else if (dice < 0.9) {
      this.#fail(call, new LockDriverError('too short'), () => call.answer([]));
    } else if (call.keys.length > 1) {
      this.#idsOf(call).forEach((id) => this.#under.delete(id));
      call.fail(serverError('TRYAGAIN'));
    } else {
      this.#fail(call, serverError('TRYAGAIN'), () => call.fail(serverError('TRYAGAIN')));
    }
  }

  /** Each with a text of its own, and now and then one with an error of its own. */
  #answerWell(call: FakeCall): void {
    const reply = this.#idsOf(call).map((id) => {
      const text = `answer to ${id}`;
      const answer = this.#random.chance(0.1) ? new LockDriverError(text) : text;
      this.#settle(id, answer);
      return answer;
    });
    call.answer(reply);
  }

  #fail(call: FakeCall, error: Error, how: () => void): void {
    this.#idsOf(call).forEach((id) => this.#settle(id, error));
    how();
  }

  #settle(id: number, answer: string | Error): void {
    this.#under.delete(id);
    this.#expected.set(id, answer);
  }

  #idsOf(call: FakeCall): number[] {
    return call.args.map(Number);
  }

  #judge(): void {
    for (const id of this.#requests.keys()) {
      const expected = this.#expected.get(id);
      const answer = this.#answered.get(id);
      if (answer === undefined || !isAsExpected(answer, expected)) {
        this.violations.push(`request ${id} got ${String(answer)} for ${String(expected)}`);
      }
    }
  }
}

const slotsOf = (requests: readonly Numbered[]): Set<number> =>
  new Set(requests.map(({ key }) => slotOf(key)));

/** A text is the request's own, and so is an error that was its own. */
function isAsExpected(answer: string | Error, expected: string | Error | undefined): boolean {
  if (!(expected instanceof Error)) {
    return answer === expected;
  }
  return answer instanceof LockDriverError && isOwn(expected) === isOwn(answer)
    ? !isOwn(expected) || answer === expected
    : false;
}

const isOwn = (error: Error): boolean => error.message.startsWith('answer to');
