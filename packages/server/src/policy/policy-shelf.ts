/**
 * Policies that were read and compiled, by the digest of their source, so that what is here is
 * never stale; which one is in force is asked of the database for every call.
 *
 * Called by: judgeCall.
 * Promises: bounded.
 */

import { RecentlyUsed } from "../recently-used.ts";
import { loadPolicy } from "./load.ts";
import type { LoadOptions, Policy } from "./rule.ts";

/** A policy, or why this program cannot read one that another program published. */
export type Shelved =
  | { readonly kind: "policy"; readonly policy: Policy }
  | { readonly kind: "unreadable"; readonly message: string };

export type PolicyKind = LoadOptions["kind"];

/** Their compiled conditions take some megabytes when all of them are as large as allowed. */
const POLICIES_MAX = 100;

export class PolicyShelf {
  readonly #shelved = new RecentlyUsed<string, Shelved>(POLICIES_MAX);

  find(kind: PolicyKind, sha256: string): Shelved | undefined {
    return this.#shelved.get(`${kind} ${sha256}`);
  }

  /** Reads a published version and keeps it. */
  put(kind: PolicyKind, { source, sha256 }: { source: string; sha256: string }): Shelved {
    const shelved = read(source, kind);
    this.#shelved.set(`${kind} ${sha256}`, shelved);
    return shelved;
  }
}

function read(source: string, kind: PolicyKind): Shelved {
  try {
    return { kind: "policy", policy: loadPolicy(source, { kind }) };
  } catch (error) {
    const message = error instanceof Error ? error.message : "it cannot be read";
    return { kind: "unreadable", message };
  }
}
