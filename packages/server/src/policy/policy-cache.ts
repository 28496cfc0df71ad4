/**
 * Cache of compiled policies by the digest of their source, so entries never become stale. Every
 * call reads the active version from the database.
 *
 * Guarantees: bounded; concurrent requests share one load.
 */

import { RecentlyUsed } from "../recently-used.ts";
import type { LoadOptions, Policy } from "./rule.ts";

/** A policy, or the error of a policy that this program cannot load. */
export type CachedPolicy =
  | { readonly kind: "policy"; readonly policy: Policy }
  | { readonly kind: "unreadable"; readonly message: string };

export type PolicyKind = LoadOptions["kind"];

/** At the maximum size of policies, their compiled conditions take some megabytes. */
const POLICIES_MAX = 100;

export class PolicyCache {
  readonly #cached = new RecentlyUsed<string, CachedPolicy>(POLICIES_MAX);
  /** Loads in progress. */
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
