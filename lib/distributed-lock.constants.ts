/** The name of the instance that has none. */
export const DEFAULT_LOCK_NAME = 'default';

/** The token of an instance's options inside its module. */
export const LOCK_SERVICE_OPTIONS = Symbol('LOCK_SERVICE_OPTIONS');
