import type { Document } from './values.js';

/** What goes wrong with a command. */
export type Fault =
  /** It is not carried out, and the answer is this error. */
  | {
      readonly kind: 'error';
      readonly code: number;
      readonly codeName: string;
      readonly more?: Document;
    }
  /** The connection ends before it is carried out, or after but before the answer. */
  | { readonly kind: 'cut'; readonly when: 'before' | 'after' }
  /** It is never answered; `after`: though it was carried out. */
  | { readonly kind: 'hang'; readonly when: 'before' | 'after' }
  /** It is carried out so much later. */
  | { readonly kind: 'delay'; readonly until: Promise<unknown> }
  /** It is carried out, but not confirmed by a majority. */
  | { readonly kind: 'writeConcernError'; readonly code: number; readonly codeName: string };

interface Planned {
  readonly command: string;
  readonly fault: Fault;
  times: number;
}

/** Faults that wait for their commands. */
export class Faults {
  readonly #planned: Planned[] = [];

  /** The next commands of this name meet the fault, so many of them. */
  plan(command: string, fault: Fault, times = 1): void {
    this.#planned.push({ command, fault, times });
  }

  clear(): void {
    this.#planned.length = 0;
  }

  take(command: string): Fault | undefined {
    const planned = this.#planned.find((each) => each.command === command && each.times > 0);
    if (planned !== undefined) {
      planned.times--;
    }
    return planned?.fault;
  }
}

/** A primary that is none any more. */
export const NOT_WRITABLE_PRIMARY: Fault = {
  kind: 'error',
  code: 10107,
  codeName: 'NotWritablePrimary',
};

/** A majority did not confirm in time. */
export const NO_MAJORITY: Fault = {
  kind: 'writeConcernError',
  code: 64,
  codeName: 'WriteConcernFailed',
};
