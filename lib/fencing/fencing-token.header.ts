/** The HTTP header in which a fencing token travels, as a decimal number. */
export const FENCING_TOKEN_HEADER = 'fencing-token';

/** The property of a message in which it does. */
export const FENCING_TOKEN_PROPERTY = 'fencingToken';
