/** Gives the groups of a starter policy to the reviewer of a new project. */

import { Problem } from "@countersign/protocol";
import { allows } from "@countersign/review-api";
import {
  type ListedReviewer,
  listPeople,
  listReviewers,
  type OpenedContext,
  setReviewer,
} from "@countersign/server";
import { PROJECT_DEFAULT } from "./agent-directory.ts";

type Context = OpenedContext["context"];

export interface FilledGroups {
  /** The groups in which no active reviewer could decide before. */
  readonly missing: readonly string[];
  /** The reviewer who joined them. Undefined if none did. */
  readonly joined: string | undefined;
  /** How many active reviewers of the project can decide. */
  readonly deciders: number;
}

/** Only a project with one active reviewer who can decide leaves no choice: this reviewer joins. */
export async function fillGroups(
  context: Context,
  groups: readonly string[],
): Promise<FilledGroups> {
  const deciders = await findActiveDeciders(context);
  const filled = new Set(deciders.flatMap((reviewer) => reviewer.groups));
  const missing = groups.filter((group) => !filled.has(group));
  const [only] = deciders;
  if (missing.length === 0 || only === undefined || deciders.length > 1) {
    return { missing, joined: undefined, deciders: deciders.length };
  }
  const { name, role } = only;
  const all = [...only.groups, ...missing];
  await setReviewer(context, { project: PROJECT_DEFAULT, name, role, groups: all });
  return { missing, joined: name, deciders: 1 };
}

/** Reviewers who can decide a request now. A reviewer without an account decides with a token. */
async function findActiveDeciders(context: Context): Promise<ListedReviewer[]> {
  const reviewers = await listReviewers(context, PROJECT_DEFAULT).catch(noReviewers);
  const people = await listPeople(context);
  const disabled = new Set(
    people.filter(({ disabledAt }) => disabledAt !== null).map(({ id }) => id),
  );
  return reviewers.filter(({ removedAt, isBot, role, personId }) => {
    const isEnabled = personId === null || !disabled.has(personId);
    return removedAt === null && !isBot && isEnabled && allows(role, "decide");
  });
}

/** The project is created with the first account. */
function noReviewers(error: unknown): [] {
  if (error instanceof Problem && error.code === "not_found") return [];
  throw error;
}
