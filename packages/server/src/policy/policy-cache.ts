/**
 * Cache of compiled policies by the digest of their source, so that an entry is
 * never stale; which one is active is asked of the database for every call.
 *
 * Promises: bounded; what several wait for is read once.
 */

import { RecentlyUsed } from "../recently-used.ts";
import type { LoadOptions, Policy } from "./rule.ts";

/** A policy, or why this program cannot read one that another program published. */
export type CachedPolicy =
  | { readonly kind: "policy"; readonly policy: Policy }
  | { readonly kind: "unreadable"; readonly message: string };

export type PolicyKind = LoadOptions["kind"];

/** Their compiled conditions take some megabytes when all of them are as large as allowed. */
const POLICIES_MAX = 100;

export class PolicyCache {
  readonly #cached = new RecentlyUsed<string, CachedPolicy>(POLICIES_MAX);
  /** Reads in progress. */
  readonly #coming = new Map<string, Promise<CachedPolicy>>();

  find(kind: PolicyKind, sha256: string): CachedPolicy | undefined {
    return this.#cached.get(nameOf(kind, sha256));
  }

  keep(kind: PolicyKind, sha256: string, cached: CachedPolicy): void {
    this.#cached.set(nameOf(kind, sha256), cached);
  }

  /** The cached policy, or the result of `read`, which is then cached. */
  async get(
    kind: PolicyKind,
    sha256: string,
    read: () => Promise<CachedPolicy>,
  ): Promise<CachedPolicy> {
    const name = nameOf(kind, sha256);
    const known = this.#cached.get(name) ?? this.#coming.get(name);
    if (known !== undefined) return known;
    const reading = read().then((cached) => {
      this.#cached.set(name, cached);
      return cached;
    });
    this.#coming.set(name, reading);
    try {
      return await reading;
    } finally {
      this.#coming.delete(name);
    }
  }
}

function nameOf(kind: PolicyKind, sha256: string): string {
  return `${kind} ${sha256}`;
}
