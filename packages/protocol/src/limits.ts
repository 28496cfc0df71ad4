/**
 * Bounds that the parsers hold by themselves. What an operator may change is in the server's
 * configuration; every number is explained in docs/reference/limits.md.
 */

/** Nesting of one body, the body's own object included. */
export const JSON_DEPTH_MAX = 100;

/** Characters of one number token: room for any real amount, none for a megabyte exponent. */
export const JSON_NUMBER_CHARS_MAX = 1000;

export const IDEMPOTENCY_KEY_CHARS_MAX = 1024;

/** A receiver's URL: what the software between two services can be expected to carry. */
export const WEBHOOK_URL_CHARS_MAX = 2048;

/** @see contract: Endpoints, GET /v1/requests/{id} */
export const WAIT_MS_MAX = 30_000;

/** The shortest retention of requests, keys, results and deletion records. @see contract: Limits */
export const RETENTION_MS_MIN = 168 * 3_600_000;

/** Of what an agent says of a call that it ran. @see docs/reference/extensions.md */
export const OUTCOME_NOTE_CHARS_MAX = 10_000;
