import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ClientFactory } from '../../../../lib/drivers/postgres/client-factory.js';
import type { Lanes } from '../../../../lib/drivers/postgres/lanes.js';
import type {
  PgClient,
  PgEvents,
  PgQuery,
  PgResult,
} from '../../../../lib/drivers/postgres/pg-port.js';
import { ReleaseListener } from '../../../../lib/drivers/postgres/release-listener.js';

/** A client that connects, listens and hears what the test says. */
class StubClient implements PgClient {
  readonly #listeners: Partial<PgEvents> = {};
  readonly sent: string[] = [];
  destroyed = false;
  readonly connection = { stream: { destroy: () => void (this.destroyed = true) } };

  constructor(private readonly fails: boolean) {}

  async connect(): Promise<void> {
    if (this.fails) {
      throw new Error('connection refused');
    }
  }

  async query({ text }: PgQuery): Promise<PgResult> {
    this.sent.push(text);
    return { command: null, rows: [] };
  }

  async end(): Promise<void> {
    this.destroyed = true;
  }

  on<E extends keyof PgEvents>(event: E, listener: PgEvents[E]): void {
    this.#listeners[event] = listener;
  }

  hear(payload: string): void {
    this.#listeners.notification?.({ payload });
  }

  break(): void {
    this.#listeners.error?.(new Error('broken'));
    this.#listeners.end?.();
  }
}

describe('the listener', () => {
  const clients: StubClient[] = [];
  let delivers: boolean;
  let fails: boolean;
  let listener: ReleaseListener;
  let heard: number;

  const create = async (): Promise<PgClient> => {
    const client = new StubClient(fails);
    clients.push(client);
    return client;
  };

  const start = (trusting: boolean): void => {
    const lanes = {
      run: async ({ values }: { values: readonly string[] }) => {
        if (delivers) {
          clients.at(-1)?.hear(values[1] as string);
        }
        return [];
      },
    } as Partial<Lanes> as Lanes;
    listener = new ReleaseListener({ create, lanes, channel: 'c', trusting });
    listener.subscribe('key', () => heard++);
  };

  beforeEach(() => {
    vi.useFakeTimers();
    clients.length = 0;
    heard = 0;
    delivers = true;
    fails = false;
  });
  afterEach(() => vi.useRealTimers());

  it('opens nothing before somebody waits', () => {
    const creating = vi.fn<ClientFactory>();
    const idle = new ReleaseListener({
      create: creating,
      lanes: {} as Lanes,
      channel: 'c',
      trusting: true,
    });
    expect(idle.works).toBe(true);
    expect(creating).not.toHaveBeenCalled();
  });

  it('tells everybody as soon as it has heard itself, for earlier releases went unheard', async () => {
    start(false);
    expect(listener.works).toBe(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(listener.works).toBe(true);
    expect(heard).toBe(1);
    clients[0]?.hear('kkey');
    clients[0]?.hear('kanother');
    clients[0]?.hear('pof-another-process');
    expect(heard).toBe(2);
    expect(clients).toHaveLength(1);
  });

  it('does not count on a connection that takes LISTEN and delivers nothing', async () => {
    delivers = false;
    start(false);
    await vi.advanceTimersByTimeAsync(2000);
    expect(listener.works).toBe(false);
    expect(heard).toBe(0);
    expect(clients[0]?.destroyed).toBe(true);
    expect(clients[0]?.sent).toEqual(['LISTEN "c"', 'UNLISTEN "c"']);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(clients).toHaveLength(1);
    delivers = true;
    await vi.advanceTimersByTimeAsync(1000);
    expect(clients).toHaveLength(2);
    expect(listener.works).toBe(true);
    expect(heard).toBe(1);
  });

  it('connects again after a break, ever more slowly, and tells everybody again', async () => {
    start(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(heard).toBe(1);
    fails = true;
    clients[0]?.break();
    expect(listener.works).toBe(false);
    await vi.advanceTimersByTimeAsync(100 + 200 + 400);
    expect(clients).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(clients.length).toBeLessThan(20);
    fails = false;
    await vi.advanceTimersByTimeAsync(5000);
    expect(listener.works).toBe(true);
    expect(heard).toBe(2);
  });

  it('ends with the driver, whatever it is about to do', async () => {
    start(true);
    const closing = listener.close();
    await vi.advanceTimersByTimeAsync(10_000);
    await closing;
    expect(clients.every(({ destroyed }) => destroyed)).toBe(true);
    expect(heard).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('begins anew when the driver is opened again', async () => {
    start(true);
    await vi.advanceTimersByTimeAsync(0);
    await listener.close();
    listener.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(clients).toHaveLength(1);
    listener.reopen();
    listener.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(clients).toHaveLength(2);
    expect(heard).toBe(2);
    clients[0]?.break();
    expect(listener.works).toBe(true);
  });
});
