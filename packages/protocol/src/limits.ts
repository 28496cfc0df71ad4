/**
 * Limits that the parsers enforce themselves. An operator can change the other limits in the
 * server's configuration. docs/reference/limits.md explains every number.
 */

/** Nesting levels of one body, including the body's own object. */
export const JSON_DEPTH_MAX = 100;

/** Characters of one number token: enough for real amounts, too few for a megabyte of digits. */
export const JSON_NUMBER_CHARS_MAX = 1000;

/** Length limit of an idempotency key, characters. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 1024;

/** Length of a receiver's URL, which typical proxies support. */
export const WEBHOOK_URL_CHARS_MAX = 2048;

/**
 * Time limit of one long poll, ms.
 *
 * @see contract: Endpoints, GET /v1/requests/{id}
 */
export const WAIT_MS_MAX = 30_000;

/** The shortest retention of requests, keys, results and deletion records. @see contract: Limits */
export const RETENTION_MS_MIN = 168 * 3_600_000;

/** Length of an agent's note about the outcome of a call. @see docs/reference/extensions.md */
export const OUTCOME_NOTE_CHARS_MAX = 10_000;
