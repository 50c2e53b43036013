import { currentHandle } from '../core/frames.js';
import type { LeaderTerm } from '../interfaces/leader-election.interface.js';
import { termOf } from './term.js';

/**
 * The term that the calling async context works for, in methods with `@LeaderOnly` and `@OnElected`: the innermost, or
 * that of `name`. Its signal aborts when the process resigns, too.
 */
export function currentTerm(name?: string): LeaderTerm | undefined {
  const handle = currentHandle((candidate) => {
    const term = termOf(candidate);
    return term !== undefined && (name === undefined || term.name === name);
  });
  return handle && termOf(handle);
}
