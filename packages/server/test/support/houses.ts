/**
 * Projects with people and agents in them, for tests that share a server and must not meet.
 */

import type { ReviewerRole } from "../../src/core/roles.ts";
import type { TestProvider } from "./test-provider.ts";

export interface House {
  readonly project: string;
  readonly reviewer: string;
  readonly instance: { readonly id: string; readonly token: string };
  readonly other: { readonly id: string; readonly token: string };
}

let houses = 0;

/** A project of its own with two instances and the reviewer `ana`. */
export async function newHouse(
  server: TestProvider,
  role: ReviewerRole = "reviewer",
): Promise<House> {
  const project = `house${++houses}`;
  return {
    project,
    reviewer: await server.token({ kind: "reviewer", project, name: "ana", role }),
    instance: await server.instance(project),
    other: await server.instance(project),
  };
}
