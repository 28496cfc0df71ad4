import type { ClaimMapping } from "../../core/claims.ts";
import { lockProject, readProjects } from "../../storage/sql/access/holders.ts";
import { lockPerson, type StoredPerson } from "../../storage/sql/people/people.ts";
import { listPersonsReviewers } from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Locks users whose roles can change, and before them the projects: changes of people lock in this
 * order, so that concurrent changes cannot remove the last two admins of a project.
 *
 * @returns the users by id, without those that do not exist
 */
export async function lockScimPersons(
  tx: Transaction,
  mapping: ClaimMapping,
  personIds: readonly string[],
): Promise<ReadonlyMap<string, StoredPerson>> {
  const projectIds = new Set<string>();
  for (const name of new Set([mapping.project, ...mapping.roles.map(({ project }) => project)])) {
    for (const { id } of await readProjects(tx, name)) projectIds.add(id);
  }
  for (const personId of personIds) {
    for (const { projectId } of await listPersonsReviewers(tx, personId)) projectIds.add(projectId);
  }
  for (const projectId of [...projectIds].sort()) await lockProject(tx, projectId);
  const persons = new Map<string, StoredPerson>();
  for (const personId of [...new Set(personIds)].sort()) {
    const person = await lockPerson(tx, "update", personId);
    if (person !== undefined) persons.set(personId, person);
  }
  return persons;
}
