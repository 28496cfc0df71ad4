import type { Context } from "../../context.ts";
import { unknownProject } from "../../core/not-found.ts";
import {
  listReviewersOf,
  readProjects,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";

export interface ListedReviewer extends StoredReviewer {
  /** Name of the project. */
  readonly project: string;
}

/**
 * Reviewers with their roles and groups, by project and name.
 *
 * @param project name of a project; undefined: all projects
 * @throws Problem `not_found` when the project does not exist
 */
export async function listReviewers(
  { store }: Pick<Context, "store">,
  project: string | undefined,
): Promise<ListedReviewer[]> {
  const projects = await readProjects(store, project);
  if (project !== undefined && projects.length === 0) {
    throw unknownProject(project);
  }
  const listed: ListedReviewer[] = [];
  for (const { id, name } of projects) {
    const reviewers = await listReviewersOf(store, id);
    listed.push(...reviewers.map((reviewer) => ({ ...reviewer, project: name })));
  }
  return listed;
}
