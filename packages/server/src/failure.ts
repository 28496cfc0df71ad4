/**
 * Something we depend on did not do its part: the disk is full, the database is gone, a key is
 * missing. The caller sees 503 `unavailable` and may try again; the cause is for the log only.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  /** What failed, low in cardinality: a metrics label. */
  readonly dependency: string;

  constructor(dependency: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.dependency = dependency;
  }
}

/** What the operator set cannot be used: another try is of no use before it is set otherwise. */
export class Misconfigured extends Failure {}
