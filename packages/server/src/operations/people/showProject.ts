import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readProjectName } from "../../storage/sql/access/holders.ts";

/**
 * The name of the caller's project.
 *
 * @throws Problem `not_found`
 */
export async function showProject(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
): Promise<string> {
  const name = await readProjectName(store, projectId);
  if (name === undefined) throw new Problem("not_found");
  return name;
}
