import type { ListRequest } from '../interfaces/lock-driver.interface.js';
import { badOption } from './option-error.js';
import { mergeOptions, number, type OptionParsers } from './option-parsers.js';

const DEFAULTS: Required<ListRequest> = { prefix: '', limit: 100 };

const PARSERS: OptionParsers<Required<ListRequest>> = {
  prefix: (value, name) => {
    if (typeof value !== 'string') {
      throw badOption(name, value, 'a string');
    }
    return value;
  },
  limit: number(
    'a whole number of at least 1',
    (value) => Number.isSafeInteger(value) && value >= 1,
  ),
};

/** Checks what a list of locks is asked for with. */
export function resolveListRequest(request: ListRequest = {}): Required<ListRequest> {
  return mergeOptions(DEFAULTS, request, PARSERS);
}
