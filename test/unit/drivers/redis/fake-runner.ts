import type { ScriptRunner } from '../../../../lib/drivers/redis/script-runner.js';
import type { Script } from '../../../../lib/drivers/redis/scripts.js';
import { Deferred } from '../../../support/deferred.js';

/** A script that was run, to be answered by the test. */
export class FakeCall {
  readonly #reply = new Deferred<unknown>();
  readonly reply = this.#reply.promise;

  constructor(
    readonly script: Script,
    readonly keys: readonly string[],
    readonly args: readonly string[],
  ) {}

  answer(reply: unknown): void {
    this.#reply.resolve(reply);
  }

  fail(error: unknown): void {
    this.#reply.reject(error);
  }
}

/** Keeps what it is asked to run until the test answers. */
export class FakeRunner implements ScriptRunner {
  readonly calls: FakeCall[] = [];
  onRun: (call: FakeCall) => void = () => undefined;

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const call = new FakeCall(script, keys, args);
    this.calls.push(call);
    this.onRun(call);
    return call.reply;
  }

  /** The keys of all calls so far. */
  get sent(): (readonly string[])[] {
    return this.calls.map(({ keys }) => keys);
  }
}
