/**
 * Instances as the reviewer surface answers them.
 */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { text } from "./json-members.ts";
import type { ReviewClient } from "./review-client.ts";

export interface ReviewedInstance {
  readonly id: string;
  readonly name: string;
  readonly groups: readonly string[];
  /** Name of a reviewer; undefined when nobody is named. */
  readonly owner: string | undefined;
  readonly createdAt: string;
  /** The change that waits for a second person; undefined when there is none. */
  readonly proposal: ProposedChange | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

export interface ProposedChange {
  readonly groups: readonly string[];
  /** Name of a reviewer; undefined for no owner. */
  readonly owner: string | undefined;
}

/** What is not given stays. */
export interface InstanceChange {
  readonly groups: readonly string[] | undefined;
  /** Null for nobody. */
  readonly owner: string | null | undefined;
}

const PAGE_LIMIT = 200;

const INSTANCES = "/instances";

export class InstanceClient {
  readonly #review: ReviewClient;

  constructor(review: ReviewClient) {
    this.#review = review;
  }

  /** Follows the pages up to `limit` instances, the oldest first. */
  async list(limit: number): Promise<{
    readonly instances: readonly ReviewedInstance[];
    readonly hasMore: boolean;
  }> {
    const instances: ReviewedInstance[] = [];
    let next: string | undefined;
    do {
      const count = Math.min(limit - instances.length, PAGE_LIMIT);
      const query = new URLSearchParams({ limit: String(count), ...(next && { after: next }) });
      const answer = await this.#review.exchange("GET", `${INSTANCES}?${query}`);
      const items = answer.members.get("instances");
      if (!(items instanceof JsonArray)) throw this.#review.stranger();
      instances.push(...items.items.map((item) => this.#instance(item)));
      next = text(answer, "next");
    } while (next !== undefined && instances.length < limit);
    return { instances, hasMore: next !== undefined };
  }

  async change(id: string, change: InstanceChange): Promise<ReviewedInstance> {
    const path = `${INSTANCES}/${encodeURIComponent(id)}`;
    return this.#instance(await this.#review.exchange("PATCH", path, JSON.stringify(change)));
  }

  /** @throws CommandError when the answer is no instance */
  #instance(value: JsonValue): ReviewedInstance {
    const instance = value instanceof JsonObject ? toInstance(value) : undefined;
    if (instance === undefined) throw this.#review.stranger();
    return instance;
  }
}

/** @returns undefined when it is not an instance as the reviewer surface shows one */
function toInstance(value: JsonObject): ReviewedInstance | undefined {
  const id = text(value, "id");
  const groups = value.members.get("groups");
  if (id === undefined || !(groups instanceof JsonArray)) return undefined;
  return {
    id,
    name: text(value, "name") ?? "",
    groups: namesIn(groups),
    owner: text(value, "owner"),
    createdAt: text(value, "created_at") ?? "",
    proposal: toProposal(value.members.get("proposed_change")),
    source: value.source,
  };
}

function toProposal(value: JsonValue | undefined): ProposedChange | undefined {
  if (!(value instanceof JsonObject)) return undefined;
  const groups = value.members.get("groups");
  return {
    groups: groups instanceof JsonArray ? namesIn(groups) : [],
    owner: text(value, "owner"),
  };
}

function namesIn({ items }: JsonArray): string[] {
  return items.filter((item) => typeof item === "string");
}
