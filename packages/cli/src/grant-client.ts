/**
 * Grants as the reviewer surface answers them.
 */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { object, text } from "./json-members.ts";
import type { ReviewClient } from "./review-client.ts";

export interface Grant {
  readonly id: string;
  /** active, revoked, exhausted or expired */
  readonly state: string;
  readonly instance: Named;
  /** Its maker. */
  readonly reviewer: Named;
  readonly tool: string;
  readonly when: string | undefined;
  readonly server: string | undefined;
  readonly session: string | undefined;
  readonly note: string | undefined;
  readonly validFor: string | undefined;
  readonly calls: number;
  readonly callsMax: number;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly revokedAt: string | undefined;
  readonly revokedBy: string | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

interface Named {
  readonly id: string;
  readonly name: string;
}

export interface GrantListing {
  readonly grants: readonly Grant[];
  readonly next: string | undefined;
}

/** The most that the server puts on a page. */
const PAGE_LIMIT = 200;

const GRANTS = "/grants";

export class GrantClient {
  readonly #review: ReviewClient;

  constructor(review: ReviewClient) {
    this.#review = review;
  }

  /** The server's time at its last answer, epoch ms. */
  get now(): number {
    return this.#review.now;
  }

  /** @param order members of the body; what is undefined is not sent */
  async create(order: Readonly<Record<string, string | number | boolean | undefined>>) {
    return this.#grant(await this.#review.exchange("POST", GRANTS, JSON.stringify(order)));
  }

  async show(id: string): Promise<Grant> {
    return this.#grant(await this.#review.exchange("GET", `${GRANTS}/${encodeURIComponent(id)}`));
  }

  async revoke(id: string): Promise<Grant> {
    const path = `${GRANTS}/${encodeURIComponent(id)}/revoke`;
    return this.#grant(await this.#review.exchange("POST", path));
  }

  /** Follows the pages up to `limit` grants; `next` is set when there are more. */
  async list(state: "active" | "ended", limit: number): Promise<GrantListing> {
    const grants: Grant[] = [];
    let next: string | undefined;
    do {
      const page = await this.#page(state, limit - grants.length, next);
      grants.push(...page.grants);
      next = page.next;
    } while (next !== undefined && grants.length < limit);
    return { grants, next };
  }

  async #page(state: string, count: number, after?: string): Promise<GrantListing> {
    const limit = String(Math.min(count, PAGE_LIMIT));
    const query = new URLSearchParams({ state, limit, ...(after && { after }) });
    const answer = await this.#review.exchange("GET", `${GRANTS}?${query}`);
    const grants = answer.members.get("grants");
    if (!(grants instanceof JsonArray)) throw this.#review.stranger();
    return { grants: grants.items.map((item) => this.#grant(item)), next: text(answer, "next") };
  }

  /** @throws CommandError when the answer is no grant */
  #grant(value: JsonValue): Grant {
    const grant = value instanceof JsonObject ? toGrant(value) : undefined;
    if (grant === undefined) throw this.#review.stranger();
    return grant;
  }
}

const TEXTS = ["id", "state", "tool", "calls", "calls_max", "created_at", "expires_at"] as const;

/** @returns undefined when it is not a grant as the reviewer surface shows one */
function toGrant(value: JsonObject): Grant | undefined {
  const texts = TEXTS.map((name) => text(value, name) ?? "");
  const [id = "", state = "", tool = "", calls, callsMax, createdAt = "", expiresAt = ""] = texts;
  const instance = object(value, "instance");
  const reviewer = object(value, "reviewer");
  if (texts.includes("") || instance === undefined || reviewer === undefined) return undefined;
  return {
    id,
    state,
    tool,
    createdAt,
    expiresAt,
    instance: toNamed(instance),
    reviewer: toNamed(reviewer),
    when: text(value, "when"),
    server: text(value, "server"),
    session: text(value, "session"),
    note: text(value, "note"),
    validFor: text(value, "valid_for"),
    calls: Number(calls),
    callsMax: Number(callsMax),
    revokedAt: text(value, "revoked_at"),
    revokedBy: text(value, "revoked_by"),
    source: value.source,
  };
}

function toNamed(value: JsonObject): Named {
  return { id: text(value, "id") ?? "", name: text(value, "name") ?? "" };
}
