/**
 * Policies that were read and compiled, by project and number. A version never changes, so what
 * is here is never stale; which number is in force is asked of the database for every call.
 *
 * Called by: judgeCall.
 * Promises: bounded.
 */

import { RecentlyUsed } from "../recently-used.ts";
import { loadPolicy } from "./load.ts";
import type { Policy } from "./rule.ts";

/** A policy, or why this program cannot read one that another program published. */
export type Shelved =
  | { readonly kind: "policy"; readonly policy: Policy }
  | { readonly kind: "unreadable"; readonly sha256: string; readonly message: string };

/** Their compiled conditions take some megabytes when all of them are as large as allowed. */
const POLICIES_MAX = 100;

export class PolicyShelf {
  readonly #shelved = new RecentlyUsed<string, Shelved>(POLICIES_MAX);

  find(projectId: string, number: number): Shelved | undefined {
    return this.#shelved.get(`${projectId} ${number}`);
  }

  /** Reads a published version and keeps it. */
  put(
    projectId: string,
    { number, source, sha256 }: { number: number; source: string; sha256: string },
  ): Shelved {
    const shelved = read(source, sha256, projectId === "" ? "floor" : "project");
    this.#shelved.set(`${projectId} ${number}`, shelved);
    return shelved;
  }
}

function read(source: string, sha256: string, kind: "floor" | "project"): Shelved {
  try {
    return { kind: "policy", policy: loadPolicy(source, { kind }) };
  } catch (error) {
    const message = error instanceof Error ? error.message : "it cannot be read";
    return { kind: "unreadable", sha256, message };
  }
}
