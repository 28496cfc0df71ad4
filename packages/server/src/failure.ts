/**
 * A dependency failed: the disk is full, the database is unreachable, a key is missing. The client
 * receives 503 `unavailable` and may retry. Only the log has the cause.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  /** Name of the dependency: a metrics label with few values. */
  readonly dependency: string;

  constructor(dependency: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.dependency = dependency;
  }
}

/** The configuration is unusable. A retry fails until the operator changes it. */
export class Misconfigured extends Failure {}
