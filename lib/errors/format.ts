/** A span of time for a message: `40 ms`, `5 s`. */
export function formatMs(ms: number): string {
  if (!Number.isFinite(ms)) {
    return 'for ever';
  }
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`;
}

/** The same without rounding, for options that are compared. */
export function formatExactly(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

/** The part of an owner that says where it runs: `pod-7:41` of `pod-7:41#k3x9`. */
export function nodeOf(owner: string): string {
  const end = owner.lastIndexOf('#');
  return end < 0 ? owner : owner.slice(0, end);
}

/** A list of keys for a message, cut where it gets long. */
export function formatKeys(keys: readonly string[]): string {
  return keys.length > 3
    ? `${keys.slice(0, 3).join(', ')} and ${keys.length - 3} more`
    : keys.join(', ');
}
