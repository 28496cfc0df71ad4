/**
 * The messages of OAuth 2.0 Token Exchange.
 *
 * @see RFC 8693, section 2; RFC 6749, section 5.2 (errors)
 */

/** Error codes of RFC 6749, section 5.2, and RFC 8693, section 2.2.2. */
export type ExchangeErrorCode =
  | "invalid_request"
  | "invalid_grant"
  | "invalid_target"
  | "invalid_scope"
  | "unsupported_grant_type";

/**
 * An expected rejection. The client receives the message, so it contains no value of the token and
 * only the characters that RFC 6749 permits.
 */
export class ExchangeRefusal extends Error {
  override readonly name = "ExchangeRefusal";
  readonly code: ExchangeErrorCode;

  constructor(code: ExchangeErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export interface TokenExchange {
  /** The JWT of the platform, unverified. */
  readonly subjectToken: string;
  /** Name of the rule; undefined: the only one that matches. */
  readonly audience: string | undefined;
}

/** Tokens of platforms have at most a few kB. */
export const SUBJECT_TOKEN_CHARS_MAX = 16_384;

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";

export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";

const SUBJECT_TOKEN_TYPES: readonly unknown[] = [
  "urn:ietf:params:oauth:token-type:jwt",
  "urn:ietf:params:oauth:token-type:id_token",
];

const KNOWN = [
  "grant_type",
  "subject_token",
  "subject_token_type",
  "audience",
  "resource",
  "scope",
  "requested_token_type",
  "actor_token",
  "actor_token_type",
] as const;

/**
 * Parses the form of a token request. Ignores unknown parameters, as RFC 6749, section 3.2, says.
 *
 * @throws ExchangeRefusal
 */
export function parseTokenExchange(form: string): TokenExchange {
  const given = readParameters(form);
  if (given.grant_type === undefined) throw invalid("grant_type is missing.");
  if (given.grant_type !== GRANT_TYPE) {
    throw new ExchangeRefusal("unsupported_grant_type", `grant_type must be ${GRANT_TYPE}.`);
  }
  if (!SUBJECT_TOKEN_TYPES.includes(given.subject_token_type)) {
    throw invalid(`subject_token_type must be ${SUBJECT_TOKEN_TYPES.join(" or ")}.`);
  }
  const { subject_token: subjectToken, requested_token_type: requested } = given;
  if (subjectToken === undefined) throw invalid("subject_token is missing.");
  if (requested !== undefined && requested !== ACCESS_TOKEN_TYPE) {
    throw invalid(`requested_token_type must be ${ACCESS_TOKEN_TYPE}.`);
  }
  if (given.actor_token !== undefined || given.actor_token_type !== undefined) {
    throw invalid("This server does not support actor_token.");
  }
  if (given.resource !== undefined) {
    throw new ExchangeRefusal("invalid_target", "Send the name of a rule as audience instead.");
  }
  if (given.scope !== undefined) {
    throw new ExchangeRefusal("invalid_scope", "This server does not support scope.");
  }
  if (subjectToken.length > SUBJECT_TOKEN_CHARS_MAX) {
    throw invalid(`subject_token is longer than ${SUBJECT_TOKEN_CHARS_MAX} characters.`);
  }
  return { subjectToken, audience: given.audience };
}

type Parameters = Partial<Record<(typeof KNOWN)[number], string>>;

function readParameters(form: string): Parameters {
  const sent = new URLSearchParams(form);
  const given: Parameters = {};
  for (const name of KNOWN) {
    const values = sent.getAll(name);
    if (values.length > 1) throw invalid(`${name} must be given once.`);
    // RFC 6749, section 3.2: a parameter without a value counts as omitted.
    if (values[0] !== undefined && values[0] !== "") given[name] = values[0];
  }
  return given;
}

function invalid(message: string): ExchangeRefusal {
  return new ExchangeRefusal("invalid_request", message);
}
