import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import type {
  AcquireRequest,
  AdmitRequest,
  Grant,
  LockDriver,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
} from '../../../lib/interfaces/lock-driver.interface.js';

type Defect = (driver: MemoryLockDriver) => Partial<LockDriver>;

/** The driver, but for what the defect does in its place. */
export function broken(defect: Defect): LockDriver {
  const driver = new MemoryLockDriver();
  const base: LockDriver = {
    name: 'broken',
    acquire: (request) => driver.acquire(request),
    renew: (leases) => driver.renew(leases),
    release: (lease) => driver.release(lease),
    onReleased: (key, listener) => driver.onReleased(key, listener),
    inspect: (key) => driver.inspect(key),
    list: (request) => driver.list(request),
    forceRelease: (key) => driver.forceRelease(key),
    admitToken: (request) => driver.admitToken(request),
  };
  return { ...base, ...defect(driver) };
}

const isGrant = (answer: object): answer is Grant => 'firstToken' in answer;

function onKeys(change: (key: string) => string): Defect {
  return (driver) => ({
    acquire: (request) => driver.acquire({ ...request, key: change(request.key) }),
    renew: (leases) => driver.renew(leases.map((lease) => ({ ...lease, key: change(lease.key) }))),
    release: (lease) => driver.release({ ...lease, key: change(lease.key) }),
    inspect: (key) => {
      const record = driver.inspect(change(key));
      return record && { ...record, key };
    },
    forceRelease: (key) => driver.forceRelease(change(key)),
  });
}

function onOwners(change: (owner: string) => string): Defect {
  return (driver) => ({
    acquire: (request) => driver.acquire({ ...request, owner: change(request.owner) }),
    renew: (leases) =>
      driver.renew(leases.map((lease) => ({ ...lease, owner: change(lease.owner) }))),
    release: (lease) => driver.release({ ...lease, owner: change(lease.owner) }),
  });
}

const onAcquire =
  (change: (request: AcquireRequest) => AcquireRequest): Defect =>
  (driver) => ({ acquire: (request) => driver.acquire(change(request)) });

const onRenew =
  (change: (lease: RenewRequest) => RenewRequest): Defect =>
  (driver) => ({ renew: (leases) => driver.renew(leases.map(change)) });

const onRelease =
  (
    change: (driver: MemoryLockDriver, lease: ReleaseRequest) => ReleaseResult | undefined,
  ): Defect =>
  (driver) => ({ release: (lease) => change(driver, lease) ?? driver.release(lease) });

const onGrant =
  (change: (grant: Grant, request: AcquireRequest) => Grant): Defect =>
  (driver) => ({
    acquire: (request) => {
      const answer = driver.acquire(request);
      return isGrant(answer) ? change(answer, request) : answer;
    },
  });

const onAdmit =
  (change: (request: AdmitRequest) => AdmitRequest): Defect =>
  (driver) => ({ admitToken: (request) => driver.admitToken(change(request)) });

/** Drivers that break one promise each, with a test that must notice it. */
export const DEFECTS: Readonly<Record<string, readonly [noticedBy: RegExp, Defect]>> = {
  'grants to everybody': [
    /one of fifty/,
    onAcquire((request) => ({ ...request, key: request.key + request.owner })),
  ],
  'lets leases end at once': [/denies a lock/, onAcquire((request) => ({ ...request, ttl: 0 }))],
  'lets leases end early': [
    /and for how long/,
    onAcquire((request) => ({ ...request, ttl: request.ttl / 3 })),
  ],
  'never lets leases end': [
    /when the ttl is over/,
    onAcquire((request) => ({ ...request, ttl: 1_000_000_000 })),
  ],
  'tells no owner in a denial': [
    /tells by whom/,
    (driver) => ({
      acquire: (request) => ({ ...driver.acquire(request), owner: undefined }),
    }),
  ],
  'tells no retryAfter in a denial': [
    /tells by whom/,
    (driver) => ({
      acquire: (request) => ({ ...driver.acquire(request), retryAfter: undefined }),
    }),
  ],
  'releases for anybody': [
    /by one who never held/,
    onRelease((driver, lease) => {
      const owner = driver.inspect(lease.key)?.owner;
      return owner ? driver.release({ ...lease, owner }) : undefined;
    }),
  ],
  'says released whatever happened': [
    /the second release with false/,
    onRelease((driver, lease) => ({ ...driver.release(lease), released: true })),
  ],
  'renews for anybody': [
    /renews for the holder alone/,
    (driver) => ({
      renew: (leases) =>
        leases.flatMap((lease) =>
          driver.renew([{ ...lease, owner: driver.inspect(lease.key)?.owner ?? lease.owner }]),
        ),
    }),
  ],
  'takes a free lock by a renewal': [
    /takes no lock by it/,
    (driver) => ({
      renew: (leases) => leases.map((lease) => ({ renewed: isGrant(driver.acquire(lease)) })),
    }),
  ],
  'shortens by every renewal': [
    /does not make a lease shorter/,
    onRenew((lease) => ({ ...lease, shorten: true })),
  ],
  'never shortens': [
    /shorter where that is asked for/,
    onRenew((lease) => ({ ...lease, shorten: false })),
  ],
  'never renews': [/makes a lease longer/, onRenew((lease) => ({ ...lease, ttl: 0 }))],
  'answers renewals in another order': [
    /in the order of the requests/,
    (driver) => ({ renew: (leases) => driver.renew(leases).toReversed() }),
  ],
  'renews at most a hundred': [
    /1000 leases/,
    (driver) => ({ renew: (leases) => driver.renew(leases.slice(0, 100)) }),
  ],
  'gives a renewal no tokens': [
    /a renewal new tokens/,
    onRenew((lease) => ({ ...lease, bumpToken: undefined })),
  ],
  'gives a renewal tokens it did not ask for': [
    /leaves the token alone/,
    onRenew((lease) => ({ ...lease, bumpToken: 1 })),
  ],
  'denies a request sent again': [
    /the owner that holds already/,
    (driver) => ({
      acquire: (request) => (driver.inspect(request.key) ? {} : driver.acquire(request)),
    }),
  ],
  'gives a request sent again new tokens': [
    /last token alone/,
    (driver) => ({
      acquire: (request) => {
        const [renewed] = driver.renew([{ ...request, bumpToken: request.tokens ?? 1 }]);
        return renewed?.firstToken
          ? { firstToken: renewed.firstToken, tokens: renewed.tokens ?? 1 }
          : driver.acquire(request);
      },
    }),
  ],
  'never gives more than one token': [
    /out of the time since the last token/,
    onAcquire((request) => ({ ...request, tokens: 1 })),
  ],
  'gives blocks ahead of the clock': [
    /out of the time since the last token/,
    onGrant((grant) => ({ ...grant, firstToken: grant.firstToken + 60_000_000 })),
  ],
  'gives blocks that overlap': [
    /without a gap or an overlap/,
    onGrant((grant, { tokens = 1 }) => ({
      firstToken: grant.firstToken + grant.tokens - tokens,
      tokens,
    })),
  ],
  'gives more tokens than were asked for': [
    /no more tokens than were asked for/,
    onAcquire((request) => ({ ...request, tokens: 2 * (request.tokens ?? 1) })),
  ],
  'counts tokens from one': [
    /the time of the store/,
    onGrant((grant) => ({ ...grant, firstToken: grant.firstToken % 1_000_000_000 })),
  ],
  'ignores wantFor': [
    /for how long the lock is wanted/,
    onAcquire((request) => ({ ...request, wantFor: undefined })),
  ],
  'marks every denied try': [
    /will not come back/,
    onAcquire((request) => ({ ...request, wantFor: request.wantFor ?? 600_000 })),
  ],
  'keeps the last mark instead of the longest': [
    /the longest of several marks/,
    (driver) => {
      const wanted = new Map<string, number>();
      return {
        acquire: (request) => {
          wanted.set(request.key, request.wantFor ?? wanted.get(request.key) ?? 0);
          return driver.acquire(request);
        },
        release: (lease) => {
          const result = driver.release(lease);
          return result.wantedFor ? { ...result, wantedFor: wanted.get(lease.key) } : result;
        },
      };
    },
  ],
  'ignores retainFor': [
    /under no owner with retainFor/,
    onRelease((driver, lease) => driver.release({ ...lease, retainFor: undefined })),
  ],
  'retains a key for its owner': [
    /not even its last owner/,
    onRelease((driver, { retainFor, ...lease }) => {
      const [renewed] = retainFor
        ? driver.renew([{ ...lease, ttl: retainFor, shorten: true }])
        : [];
      return renewed && { released: renewed.renewed };
    }),
  ],
  'compares owners without case': [/look alike/, onOwners((owner) => owner.toLowerCase())],
  'compares owners by their beginning': [/look alike/, onOwners((owner) => owner.slice(0, 64))],
  'ignores blanks around owners': [/look alike/, onOwners((owner) => owner.trim())],
  'compares keys without case': [/by case only/, onKeys((key) => key.toLowerCase())],
  'ignores blanks around keys': [/by blanks only/, onKeys((key) => key.trim())],
  'compares keys by their beginning': [/far out/, onKeys((key) => key.slice(0, 255))],
  'compares keys by their normal form': [/accents only/, onKeys((key) => key.normalize())],
  'takes characters of a prefix for wild cards': [
    /every character of a prefix/,
    (driver) => ({
      list: ({ prefix = '', limit } = {}) => {
        const [start = ''] = prefix.split('%');
        return driver.list({ prefix: start, limit });
      },
    }),
  ],
  'lists without a limit': [
    /no more than the limit/,
    (driver) => ({ list: (request) => driver.list({ ...request, limit: Infinity }) }),
  ],
  'shows the first token of a block': [
    /shows a lock that is held/,
    (driver) => ({
      inspect: (key) => {
        const record = driver.inspect(key);
        return record && { ...record, fencingToken: String(Number(record.fencingToken) - 1) };
      },
    }),
  ],
  'says that it freed a lock that was free': [
    /nothing to free by force/,
    (driver) => ({ forceRelease: (key) => driver.forceRelease(key) || true }),
  ],
  'gives notices to those who have left': [
    /none that has left/,
    (driver) => ({
      onReleased: (key, listener) => {
        driver.onReleased(key, listener);
        return () => undefined;
      },
    }),
  ],
  'has no gate, and does not say so': [/as often as it comes/, () => ({ admitToken: undefined })],
  'admits every token': [/refuses an older/, () => ({ admitToken: () => ({ admitted: true }) })],
  'admits a token once': [
    /as often as it comes/,
    (driver) => {
      const seen = new Set<number>();
      return {
        admitToken: (request) =>
          seen.has(request.token)
            ? { admitted: false, rule: 'older' }
            : (seen.add(request.token), driver.admitToken(request)),
      };
    },
  ],
  'compares resources without case': [
    /resources apart that look alike/,
    onAdmit((request) => ({ ...request, resource: request.resource.toLowerCase() })),
  ],
  'believes tokens of the future': [
    /bars nobody/,
    () => {
      const newest = new Map<string, number>();
      return {
        admitToken: ({ resource, token }) => {
          const isOlder = token < (newest.get(resource) ?? 0);
          newest.set(resource, Math.max(token, newest.get(resource) ?? 0));
          return isOlder ? { admitted: false, rule: 'older' } : { admitted: true };
        },
      };
    },
  ],
  'believes tokens from before its memory': [
    /from before its memory where it remembers none/,
    onAdmit((request) => ({ ...request, retention: 100 * request.retention })),
  ],
  'forgets tokens that are as old as its memory': [
    /remembers for longer than the retention/,
    (driver) => {
      const seen = new Map<string, number>();
      return {
        admitToken: (request) => {
          const { resource, retention } = request;
          const before = seen.get(resource) ?? -Infinity;
          const isForgotten = Date.now() - before > retention;
          seen.set(resource, Date.now());
          return isForgotten ? { admitted: true } : driver.admitToken(request);
        },
      };
    },
  ],
  'cannot be closed twice': [
    /closes twice/,
    () => {
      let open = true;
      return {
        close: async () => {
          if (!open) {
            throw new Error('closed already');
          }
          open = false;
        },
      };
    },
  ],
};
