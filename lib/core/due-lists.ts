import type { Clock, Timer } from './clock.js';

/** Something that falls due once. Its links are its own, so that scheduling allocates nothing. */
export abstract class Due {
  dueAt = 0;
  lane: Lane | null = null;
  earlier: Due | null = null;
  later: Due | null = null;
}

/**
 * What falls due after one span of time. Such things fall due in the order they were scheduled, or nearly so: the
 * place of a new one is found from the end.
 */
class Lane {
  first: Due | null = null;
  last: Due | null = null;

  constructor(
    /** How far ahead of its time a thing may be taken out together with others. */
    readonly slack: number,
    /** Taken off every due time, so that processes started together do not stay in step. */
    readonly jitter: number,
  ) {}

  insert(item: Due): void {
    let before = this.last;
    while (before !== null && before.dueAt > item.dueAt) {
      before = before.earlier;
    }
    const after = before === null ? this.first : before.later;
    item.lane = this;
    item.earlier = before;
    item.later = after;
    if (before === null) {
      this.first = item;
    } else {
      before.later = item;
    }
    if (after === null) {
      this.last = item;
    } else {
      after.earlier = item;
    }
  }

  remove(item: Due): void {
    if (item.earlier === null) {
      this.first = item.later;
    } else {
      item.earlier.later = item.later;
    }
    if (item.later === null) {
      this.last = item.earlier;
    } else {
      item.later.earlier = item.earlier;
    }
    item.lane = null;
    item.earlier = null;
    item.later = null;
  }
}

/** Takes a thing off its list; nothing happens if it is on none. */
export function cancel(item: Due): void {
  item.lane?.remove(item);
}

/** How a role's things may be moved about in time. */
export interface RoleOptions {
  /** The part of a span by which things may be handled early, to be handled together. */
  readonly slack?: number;
  /** The part of a span that is taken off at random, once per list. */
  readonly jitter?: number;
}

/** One kind of thing that falls due, and what is then done with it. */
export class DueRole<T extends Due> {
  readonly #lists: DueLists;
  readonly #handle: (item: T, now: number) => void;
  readonly #slack: number;
  readonly #jitter: number;
  readonly #lanes = new Map<number, Lane>();

  constructor(lists: DueLists, handle: (item: T, now: number) => void, options: RoleOptions) {
    this.#lists = lists;
    this.#handle = handle;
    this.#slack = options.slack ?? 0;
    this.#jitter = options.jitter ?? 0;
  }

  /** Schedules the item, wherever it stood before, for `dueAt`; items of one `span` share a list. */
  schedule(item: T, dueAt: number, span: number): void {
    cancel(item);
    let lane = this.#lanes.get(span);
    if (lane === undefined) {
      lane = new Lane(span * this.#slack, span * this.#jitter * this.#lists.random());
      this.#lanes.set(span, lane);
    }
    item.dueAt = dueAt - lane.jitter;
    lane.insert(item);
    this.#lists.expect(item.dueAt);
  }

  /** Handles what is due, and forgets the lists that are empty. */
  sweep(now: number): void {
    for (const [span, lane] of this.#lanes) {
      while (lane.first !== null && lane.first.dueAt <= now + lane.slack) {
        const item = lane.first as T;
        lane.remove(item);
        this.#handle(item, now);
      }
      if (lane.first === null) {
        this.#lanes.delete(span);
      }
    }
  }

  /** All that has not fallen due yet. */
  *pending(): Iterable<T> {
    for (const lane of this.#lanes.values()) {
      for (let item = lane.first; item !== null; item = item.later) {
        yield item as T;
      }
    }
  }

  /** When the next thing falls due. */
  next(): number {
    let next = Infinity;
    for (const lane of this.#lanes.values()) {
      if (lane.first !== null && lane.first.dueAt < next) {
        next = lane.first.dueAt;
      }
    }
    return next;
  }
}

/** All that falls due in one engine, driven by one timer, which keeps the process alive only while somebody waits. */
export class DueLists {
  readonly random: () => number;
  readonly #clock: Clock;
  readonly #roles: Pick<DueRole<Due>, 'sweep' | 'next'>[] = [];
  #afterSweep: () => void = () => undefined;
  #timer: Timer | null = null;
  #armedFor = Infinity;
  #keepers = 0;
  #stopped = false;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.random = random;
  }

  role<T extends Due>(
    handle: (item: T, now: number) => void,
    options: RoleOptions = {},
  ): DueRole<T> {
    const role = new DueRole<T>(this, handle, options);
    this.#roles.push(role);
    return role;
  }

  /** Calls `callback` after each sweep, for what was only collected in it. */
  afterSweep(callback: () => void): void {
    this.#afterSweep = callback;
  }

  expect(dueAt: number): void {
    if (dueAt < this.#armedFor && !this.#stopped) {
      this.#arm(dueAt);
    }
  }

  /** One more waits: the process must live on for it. */
  keepAlive(): void {
    if (this.#keepers++ === 0) {
      this.#timer?.ref();
    }
  }

  letGo(): void {
    if (--this.#keepers === 0) {
      this.#timer?.unref();
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  #tick(): void {
    this.#timer = null;
    this.#armedFor = Infinity;
    const now = this.#clock.now();
    try {
      for (const role of this.#roles) {
        role.sweep(now);
      }
      this.#afterSweep();
    } finally {
      this.#rearm();
    }
  }

  #rearm(): void {
    let next = this.#armedFor;
    for (const role of this.#roles) {
      next = Math.min(next, role.next());
    }
    if (next < this.#armedFor && !this.#stopped) {
      this.#arm(next);
    }
  }

  #arm(dueAt: number): void {
    this.#disarm();
    this.#armedFor = dueAt;
    const delay = Math.max(1, Math.ceil(dueAt - this.#clock.now()));
    this.#timer = this.#clock.setTimeout(() => this.#tick(), delay);
    if (this.#keepers === 0) {
      this.#timer.unref();
    }
  }

  #disarm(): void {
    if (this.#timer !== null) {
      this.#clock.clearTimeout(this.#timer);
      this.#timer = null;
    }
    this.#armedFor = Infinity;
  }
}
