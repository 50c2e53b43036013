import type { InjectionToken } from '@nestjs/common';
import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import { text } from '../options/text-parsers.js';
import { FencingGate } from './fencing-gate.js';
import { fencingGateName } from './fencing-gate.name.js';

/** What the gate of this instance is injected by: the class for the default one, else a text that is readable in Nest's errors. */
export function getFencingGateToken(name: string = DEFAULT_LOCK_NAME): InjectionToken<FencingGate> {
  return name === DEFAULT_LOCK_NAME ? FencingGate : fencingGateName(text(name, 'name'));
}
