import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { hashToken, isWellFormedToken } from "../../secrets/token.ts";
import { assertScimTokenActive } from "../../steps/scim/assertScimToken.ts";
import { readScimToken } from "../../storage/sql/scim/scim-tokens.ts";

const BEARER = /^bearer +([^\s]+) *$/i;

/**
 * Authenticates an `Authorization` header of an identity provider. Without any SCIM token, every
 * header is rejected: SCIM is then off.
 *
 * @throws Problem `invalid_credential`
 */
export async function authenticateScim(
  { store, clock }: Pick<Context, "store" | "clock">,
  authorization: string | undefined,
): Promise<ScimCaller> {
  const token = BEARER.exec(authorization ?? "")?.[1];
  if (token === undefined || !isWellFormedToken(token)) throw new Problem("invalid_credential");
  const stored = await readScimToken(store, hashToken(token));
  return { tokenId: assertScimTokenActive(stored, clock.now()).id };
}
