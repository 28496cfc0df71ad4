import type { Context } from "../../context.ts";
import { listOperatorCredentials } from "../../storage/sql/access/credentials.ts";

export type ListedToken = Awaited<ReturnType<typeof listOperatorCredentials>>[number];

/** The tokens that operators created. The tokens themselves are not stored. */
export async function listTokens(context: Context): Promise<readonly ListedToken[]> {
  return listOperatorCredentials(context.store);
}
