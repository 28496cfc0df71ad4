/**
 * Algorithms of the signatures of tokens: those with a key pair, because the keys of an issuer are
 * public. Neither `none` nor HMAC proves who signed.
 *
 * @see RFC 7518, section 3.1; RFC 8725, section 3.1; RFC 9864 (Ed25519)
 */
export const SIGNATURE_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;
