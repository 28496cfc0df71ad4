import type { Context } from "../../context.ts";
import {
  listScimTokens as readTokens,
  type StoredScimToken,
} from "../../storage/sql/scim/scim-tokens.ts";

export type ListedScimToken = StoredScimToken;

/** The tokens of identity providers, the oldest first. The tokens themselves are not stored. */
export async function listScimTokens({
  store,
}: Pick<Context, "store">): Promise<readonly ListedScimToken[]> {
  return readTokens(store);
}
