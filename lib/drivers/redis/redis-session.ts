import { setTimeout as delay } from 'node:timers/promises';
import { LockDriverError } from '../../errors/lock-driver.error.js';
import { ClusteredOperation } from './clustered-operation.js';
import { codeOf, explain, explained } from './explain-error.js';
import { hashSlot } from './hash-slot.js';
import {
  acquireOperation,
  inspectOperation,
  releaseOperation,
  renewOperation,
} from './operations.js';
import type { RedisLockSettings } from './redis-lock.options.js';
import { ReleaseChannels } from './release-channels.js';
import { ReplicatedRunner } from './replicated-runner.js';
import { ClientRunner, type ScriptRunner } from './script-runner.js';
import {
  type Keyed,
  type Operation,
  type OperationDefinition,
  ScriptedOperation,
} from './scripted-operation.js';
import { type Scripts, scriptsFor } from './scripts.js';
import { checkServers } from './server-check.js';

/** A name that no lock has: keys are without NUL. */
const REHEARSAL = '\0';
const LOADING_PAUSE = 100;

/** What one connects to: the operations on servers that were looked at, and what is to be closed in the end. */
export type RedisSession = Awaited<ReturnType<typeof openSession>>;

/** Looks at the servers, and gets everything ready that locks need of them. */
export async function openSession(settings: RedisLockSettings, deadline: number) {
  const { port, prefix, retention, replicas, answerTimeout } = settings;
  const fullPrefix = await untilLoaded(deadline, async () => {
    const name = await port.eval('return KEYS[1]', [prefix + REHEARSAL], []);
    return String(name).slice(0, -REHEARSAL.length);
  });
  const { isModern, warnings } = checkServers(await explained(port.info()));
  const sharded = port.isCluster && isModern;
  const publish = sharded ? 'SPUBLISH' : 'PUBLISH';
  const scripts = scriptsFor({ retention, publish, knowsFlags: isModern });
  const quick = new ClientRunner(port);
  await rehearse(quick, scripts, prefix + REHEARSAL);
  const replicated = replicas && new ReplicatedRunner(port, replicas, answerTimeout);
  await replicated?.rehearse();
  const operationOf = <Q extends Keyed, A>(
    definition: OperationDefinition<Q, A>,
  ): Operation<Q, A> => {
    const create = (): Operation<Q, A> => new ScriptedOperation(definition, prefix);
    return port.isCluster
      ? new ClusteredOperation((key) => hashSlot(fullPrefix + key), create)
      : create();
  };
  const channels = new ReleaseChannels(fullPrefix, (events) => port.subscribe(events, sharded));
  const shared = {
    scripts,
    durable: replicated ?? quick,
    quick,
    retention,
    isListening: (key: string): boolean => channels.isListening(key),
  };
  return {
    warnings,
    fullPrefix,
    scripts,
    durable: shared.durable,
    quick,
    acquire: operationOf(acquireOperation(shared)),
    renew: operationOf(renewOperation(shared)),
    release: operationOf(releaseOperation(shared)),
    inspect: operationOf(inspectOperation(shared)),
    channels,
    close: async (): Promise<void> => {
      channels.close();
      await replicated?.close();
    },
  };
}

/** A server that has just started answers, but not yet what it is asked. */
async function untilLoaded<T>(deadline: number, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (codeOf(error) !== 'LOADING' || performance.now() + LOADING_PAUSE >= deadline) {
        throw explain(error);
      }
      await delay(LOADING_PAUSE);
    }
  }
}

/** Finds out at boot what would otherwise go wrong at night: a right that is missing. */
async function rehearse(
  runner: ScriptRunner,
  { rehearse: script }: Scripts,
  key: string,
): Promise<void> {
  const [command, refusal] = (await runner.run(script, [key], [])) as string[];
  if (command !== undefined) {
    throw new LockDriverError(`${command}: ${explain(new Error(refusal)).message}`);
  }
}
