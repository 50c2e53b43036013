import type {
  AcquireRequest,
  Admission,
  Denial,
  Grant,
  LockRecord,
  RefusalRule,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
  RenewResult,
} from '../../interfaces/lock-driver.interface.js';
import { explain } from './explain-error.js';
import type { ScriptRunner } from './script-runner.js';
import type { OperationDefinition } from './scripted-operation.js';
import type { Scripts } from './scripts.js';

/** What all operations need to know. */
export interface OperationSettings {
  readonly scripts: Scripts;
  /** Runs what must not be lost. */
  readonly durable: ScriptRunner;
  /** Runs the rest. */
  readonly quick: ScriptRunner;
  /** Milliseconds for which a lock that is free is remembered. */
  readonly retention: number;
  /** Whether this process is itself told of releases of the key. */
  readonly isListening: (key: string) => boolean;
}

/** Small enough for client and server to work at the same time on what is asked for at once. */
const FEW = 32;
/** A renewal is in no hurry, so it may be larger; the server is blocked for less than a millisecond. */
const MANY = 250;

const RELEASED: ReleaseResult = Object.freeze({ released: true });
const NOT_RELEASED: ReleaseResult = Object.freeze({ released: false });
const RENEWED: RenewResult = Object.freeze({ renewed: true });
const NOT_RENEWED: RenewResult = Object.freeze({ renewed: false });

const microseconds = (ms: number): string => String(Math.ceil(ms * 1000));
const milliseconds = (ms: number): string => String(Math.ceil(ms));
const owners = (requests: readonly { readonly owner: string }[]): string[] =>
  requests.map(({ owner }) => owner);

/** Grants or denies locks. */
export function acquireOperation({
  scripts,
  durable,
  retention,
}: OperationSettings): OperationDefinition<AcquireRequest, Grant | Denial> {
  return {
    script: scripts.acquire,
    runner: durable,
    limit: FEW,
    fits: (one, other) =>
      one.ttl === other.ttl && one.tokens === other.tokens && one.wantFor === other.wantFor,
    args: (requests) => {
      const { ttl, tokens = 1, wantFor = 0 } = requests[0]!;
      return [
        microseconds(ttl),
        String(tokens),
        microseconds(wantFor),
        milliseconds(ttl + retention),
        ...owners(requests),
      ];
    },
    answers: (reply, requests) =>
      requests
        .slice(0, reply.length / 2)
        .map((_, index) => grantOrDenial(Number(reply[2 * index]), reply[2 * index + 1])),
  };
}

function grantOrDenial(tokenOrTime: number, detail: unknown): Grant | Denial | Error {
  if (tokenOrTime > 0) {
    const tokens = Number(detail);
    return { firstToken: tokenOrTime - tokens + 1, tokens };
  }
  const text = String(detail);
  if (tokenOrTime < 0) {
    return text === '' ? { retryAfter: -tokenOrTime } : { retryAfter: -tokenOrTime, owner: text };
  }
  return explain(new Error(text));
}

/** Renews leases. */
export function renewOperation({
  scripts,
  durable,
}: OperationSettings): OperationDefinition<RenewRequest, RenewResult> {
  return {
    script: scripts.renew,
    runner: durable,
    limit: MANY,
    fits: (one, other) =>
      one.ttl === other.ttl && one.shorten === other.shorten && one.bumpToken === other.bumpToken,
    args: (requests) => {
      const { ttl, shorten = false, bumpToken = 0 } = requests[0]!;
      return [microseconds(ttl), shorten ? '1' : '0', String(bumpToken), ...owners(requests)];
    },
    answers: (reply, requests) => {
      if (requests[0]!.bumpToken) {
        return requests
          .slice(0, reply.length / 2)
          .map((_, index) =>
            renewalWithTokens(Number(reply[2 * index]), Number(reply[2 * index + 1])),
          );
      }
      const lost = new Set(reply.map(Number));
      return requests.map((_, index) => (lost.has(index + 1) ? NOT_RENEWED : RENEWED));
    },
  };
}

function renewalWithTokens(lastToken: number, tokens: number): RenewResult {
  return tokens === 0 ? NOT_RENEWED : { renewed: true, firstToken: lastToken - tokens + 1, tokens };
}

/** Gives locks back; nobody is harmed if that is lost, so it waits for no replica. */
export function releaseOperation({
  scripts,
  quick,
  isListening,
}: OperationSettings): OperationDefinition<ReleaseRequest, ReleaseResult> {
  return {
    script: scripts.release,
    runner: quick,
    limit: FEW,
    fits: (one, other) => one.retainFor === other.retainFor,
    args: (requests) => [microseconds(requests[0]!.retainFor ?? 0), ...owners(requests)],
    answers: (reply, requests) =>
      requests
        .slice(0, reply.length / 2)
        .map(({ key }, index) =>
          releaseResult(
            Number(reply[2 * index]),
            Math.max(0, Number(reply[2 * index + 1]) - Number(isListening(key))),
          ),
        ),
  };
}

function releaseResult(wantedFor: number, wantedBy: number): ReleaseResult {
  if (wantedFor < 0) {
    return NOT_RELEASED;
  }
  return wantedFor === 0 ? RELEASED : { released: true, wantedFor, wantedBy };
}

/** Tells of locks that are held. */
export function inspectOperation({
  scripts,
  quick,
}: OperationSettings): OperationDefinition<{ readonly key: string }, LockRecord | null> {
  return {
    script: scripts.inspect,
    runner: quick,
    limit: MANY,
    fits: () => true,
    args: () => [],
    answers: (reply, requests) =>
      requests.slice(0, reply.length / 3).map(({ key }, index) => {
        const [remaining, token, owner] = reply.slice(3 * index, 3 * index + 3);
        return Number(remaining) > 0
          ? {
              key,
              owner: String(owner),
              fencingToken: String(token),
              remaining: Number(remaining),
            }
          : null;
      }),
  };
}

/** What the gate's script says. */
export function admissionOf(reply: unknown): Admission {
  const [rule, newest] = reply as [RefusalRule | '', number | string];
  if (rule === '') {
    return { admitted: true };
  }
  return Number(newest) === 0
    ? { admitted: false, rule }
    : { admitted: false, rule, newest: Number(newest) };
}
