/**
 * Freezes as the reviewer surface answers them.
 */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { object, text } from "./json-members.ts";
import type { ReviewClient } from "./review-client.ts";

export interface Freeze {
  readonly id: string;
  /** instance, project or server */
  readonly scope: string;
  readonly instance: { readonly id: string; readonly name: string } | undefined;
  readonly note: string | undefined;
  readonly frozenAt: string;
  readonly frozenBy: string;
  readonly liftedAt: string | undefined;
  readonly liftedBy: string | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

/** What freezing answered. */
export interface Frozen extends Freeze {
  /** How many pending requests it denied. */
  readonly denied: number;
  /** False: the server goes on denying. */
  readonly isComplete: boolean;
}

export interface FreezeListing {
  readonly freezes: readonly Freeze[];
  readonly next: string | undefined;
}

/** What a freeze is laid on. */
export interface FreezeTarget {
  readonly scope: "instance" | "project" | "server";
  /** Exactly when the scope is an instance. */
  readonly instanceId: string | undefined;
}

/** The most that the server puts on a page. */
const PAGE_LIMIT = 200;

const FREEZES = "/freezes";

export class FreezeClient {
  readonly #review: ReviewClient;

  constructor(review: ReviewClient) {
    this.#review = review;
  }

  async freeze({ scope, instanceId }: FreezeTarget, note: string | undefined): Promise<Frozen> {
    const body = JSON.stringify({ scope, instance_id: instanceId, note });
    const answer = await this.#review.exchange("POST", FREEZES, body);
    const denied = text(answer, "denied");
    if (denied === undefined) throw this.#review.stranger();
    const isComplete = answer.members.get("complete") === true;
    return { ...this.#freeze(answer), denied: Number(denied), isComplete };
  }

  async lift(id: string): Promise<Freeze> {
    const path = `${FREEZES}/${encodeURIComponent(id)}/lift`;
    return this.#freeze(await this.#review.exchange("POST", path));
  }

  /** Follows the pages up to `limit` freezes; `next` is set when there are more. */
  async list(state: "in_force" | "lifted", limit: number): Promise<FreezeListing> {
    const freezes: Freeze[] = [];
    let next: string | undefined;
    do {
      const page = await this.#page(state, limit - freezes.length, next);
      freezes.push(...page.freezes);
      next = page.next;
    } while (next !== undefined && freezes.length < limit);
    return { freezes, next };
  }

  async #page(state: string, count: number, after?: string): Promise<FreezeListing> {
    const limit = String(Math.min(count, PAGE_LIMIT));
    const query = new URLSearchParams({ state, limit, ...(after && { after }) });
    const answer = await this.#review.exchange("GET", `${FREEZES}?${query}`);
    const freezes = answer.members.get("freezes");
    if (!(freezes instanceof JsonArray)) throw this.#review.stranger();
    return { freezes: freezes.items.map((item) => this.#freeze(item)), next: text(answer, "next") };
  }

  /** @throws CommandError when the answer is no freeze */
  #freeze(value: JsonValue): Freeze {
    const freeze = value instanceof JsonObject ? toFreeze(value) : undefined;
    if (freeze === undefined) throw this.#review.stranger();
    return freeze;
  }
}

/** @returns undefined when it is not a freeze as the reviewer surface shows one */
function toFreeze(value: JsonObject): Freeze | undefined {
  const names = ["id", "scope", "frozen_at", "frozen_by"] as const;
  const [id = "", scope = "", frozenAt = "", frozenBy = ""] = names.map((name) =>
    text(value, name),
  );
  const instance = object(value, "instance");
  if (!id || !scope || !frozenAt || !frozenBy) return undefined;
  return {
    id,
    scope,
    frozenAt,
    frozenBy,
    instance: instance && {
      id: text(instance, "id") ?? "",
      name: text(instance, "name") ?? "",
    },
    note: text(value, "note"),
    liftedAt: text(value, "lifted_at"),
    liftedBy: text(value, "lifted_by"),
    source: value.source,
  };
}
