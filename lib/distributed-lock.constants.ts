/** The name of the instance that has none. */
export const DEFAULT_LOCK_NAME = 'default';
