/** Users who are reviewers of several projects. */

import type { ReviewerRole } from "../../src/core/roles.ts";
import { ensureProject } from "../../src/storage/sql/access/holders.ts";
import type { TestProvider } from "./test-provider.ts";

export interface MembershipOrder {
  /** Of the user. */
  readonly login: string;
  /** Name of the project. */
  readonly project: string;
  readonly role?: ReviewerRole;
}

/** Makes a user a reviewer of one more project. @returns the id of the project */
export async function addMembership(
  { provider: { context } }: Pick<TestProvider, "provider">,
  { login, project, role = "reviewer" }: MembershipOrder,
): Promise<string> {
  const { store, random } = context;
  return store.transact(async (tx) => {
    const now = await tx.now();
    const projectId = await ensureProject(tx, project, random.uuid(), now);
    await tx.run(
      `insert into reviewer (id, project_id, name, role, group_names, created_at, person_id)
       select $1, $2, login, $3, '[]', $4, id from person where login = $5`,
      [random.uuid(), projectId, role, now, login],
    );
    return projectId;
  });
}

/** Removes a user from a project. */
export async function removeMembership(
  { provider: { context } }: Pick<TestProvider, "provider">,
  projectId: string,
  personId: string,
): Promise<void> {
  await context.store.transact(async (tx) => {
    await tx.run("update reviewer set removed_at = $1 where project_id = $2 and person_id = $3", [
      await tx.now(),
      projectId,
      personId,
    ]);
  });
}
