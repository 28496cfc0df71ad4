/**
 * Projects with people and agents in them, for tests that share a server and must not meet.
 */

import type { ReviewerRole } from "../../src/core/roles.ts";
import type { TestProvider } from "./test-provider.ts";

export interface TestProject {
  readonly project: string;
  readonly reviewer: string;
  readonly instance: { readonly id: string; readonly token: string };
  readonly other: { readonly id: string; readonly token: string };
}

let testProjects = 0;

/** A project of its own with two instances and the reviewer `ana`. */
export async function newTestProject(
  server: TestProvider,
  role: ReviewerRole = "reviewer",
): Promise<TestProject> {
  const project = `house${++testProjects}`;
  return {
    project,
    reviewer: await server.token({ kind: "reviewer", project, name: "ana", role }),
    instance: await server.instance(project),
    other: await server.instance(project),
  };
}

/** The id of a project by its name. It is in the addresses of its pages. */
export async function projectIdOf(
  { provider: { context } }: Pick<TestProvider, "provider">,
  name = "default",
): Promise<string> {
  const row = await context.store.get("select id from project where name = $1", [name]);
  return String(row?.id);
}

/** The path of the pages of a project. */
export async function projectPath(
  server: Pick<TestProvider, "provider">,
  name = "default",
): Promise<string> {
  return `/p/${await projectIdOf(server, name)}`;
}
