import { Problem } from "@countersign/protocol";
import { type Scopes, scopesFault } from "../../core/scopes.ts";

/**
 * Checks the scopes of a token.
 *
 * @throws Problem `invalid_request` with param `scopes`
 */
export function assertScopes(scopes: Scopes): void {
  const fault = scopes === null ? undefined : scopesFault(scopes);
  if (fault !== undefined) {
    throw new Problem("invalid_request", `scopes ${fault}.`, { param: "scopes" });
  }
}
