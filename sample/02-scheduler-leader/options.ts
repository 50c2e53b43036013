import { parseArgs } from 'node:util';
import { DRIVER_NAMES, type DriverName } from './store.js';

/** How the sample is run. */
export interface Options {
  readonly driver: DriverName;
  /** A server of the user's own. */
  readonly url: string | undefined;
  /** Kill each leader after a while. */
  readonly kill: boolean;
  /** End after a few terms. */
  readonly once: boolean;
}

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      driver: { type: 'string', default: 'postgres' },
      url: { type: 'string' },
      kill: { type: 'boolean', default: false },
      once: { type: 'boolean', default: false },
    },
  });
  const driver = DRIVER_NAMES.find((name) => name === values.driver);
  if (driver === undefined) {
    throw new Error(`--driver is one of ${DRIVER_NAMES.join(', ')}, and not ${values.driver}`);
  }
  return { ...values, driver, url: values.url };
}
