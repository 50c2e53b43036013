import { LockDriverError } from '../../errors/lock-driver.error.js';

/** What to do about the errors of a server, by the code that they begin with. */
const ADVICE: Readonly<Record<string, string>> = {
  CLUSTERDOWN: 'a part of the cluster has no primary',
  LOADING: 'the server has just started and is not ready yet',
  MASTERDOWN: 'this is a replica without a primary: give the driver a client of the primary',
  MISCONF: 'the server cannot save its data and takes no writes: see its log',
  MOVED: 'the server is part of a cluster: give the driver a cluster client',
  NOAUTH: 'give the client a password',
  NOPERM: 'give the user the rights that docs/redis.md lists',
  NOREPLICAS: 'the server wants more replicas than are there (min-replicas-to-write)',
  OOM: 'the server is full: raise maxmemory, or give locks a server of their own',
  READONLY: 'this is a replica: give the driver a client of the primary, or one that asks Sentinel',
  UNBLOCKED: 'the server has just become a replica',
  WRONGPASS: 'the password of the client is wrong',
  WRONGTYPE: 'something else uses the name of this lock: choose another `prefix`',
};

/** Scripts are refused commands in words of their own. */
const REFUSED_IN_SCRIPT = /user executing the script can't|No permissions/i;

/** The error of a client or a server, with what to do about it. */
export function explain(error: unknown): LockDriverError {
  if (error instanceof LockDriverError) {
    return error;
  }
  const message = error instanceof Error ? error.message : String(error);
  const advice = REFUSED_IN_SCRIPT.test(message) ? ADVICE['NOPERM'] : ADVICE[codeOf(error)];
  return new LockDriverError(advice === undefined ? message : `${message} - ${advice}`, {
    cause: error,
  });
}

/** The same answer; what goes wrong is explained. */
export function explained<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw explain(error);
  });
}

/** The code that a server's error begins with. */
export function codeOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /^[A-Z]+(?=\s|$)/.exec(message)?.[0] ?? '';
}
