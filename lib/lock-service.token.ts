import type { InjectionToken } from '@nestjs/common';
import { DEFAULT_LOCK_NAME } from './distributed-lock.constants.js';
import { lockServiceName } from './lock-service.name.js';
import { LockService } from './lock.service.js';
import { text } from './options/text-parsers.js';

/** What the instance of this name is injected by: the class for the default one, else a text that is readable in Nest's errors. */
export function getLockServiceToken(name: string = DEFAULT_LOCK_NAME): InjectionToken<LockService> {
  return name === DEFAULT_LOCK_NAME ? LockService : lockServiceName(text(name, 'name'));
}
