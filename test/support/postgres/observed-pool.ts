import { Client, Pool, type PoolConfig } from 'pg';

/** A statement as it went over a connection. */
export interface Sent {
  readonly name: string | undefined;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A pool whose clients, and those that are made like them, tell what they are asked. */
export class ObservedPool extends Pool {
  readonly sent: Sent[] = [];
  /** How many connections were opened. */
  opened = 0;

  constructor(config: PoolConfig) {
    super(config);
    this.on('error', () => undefined);
    const { sent } = this;
    const opening = (): void => void this.opened++;
    Reflect.set(
      this,
      'Client',
      class extends Client {
        override connect(...args: never[]): any {
          opening();
          return super.connect(...(args as []));
        }

        override query(...args: any[]): any {
          const [query, values] = args;
          const { name, text, values: own } = typeof query === 'string' ? { text: query } : query;
          sent.push({ name, text, values: own ?? values ?? [] });
          return super.query(...(args as [string]));
        }
      },
    );
  }

  /** The names of the statements that were sent since the last call. */
  names(): (string | undefined)[] {
    return this.sent.splice(0).map(({ name }) => name);
  }
}
