/**
 * Deliveries as the reviewer surface answers them.
 */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { object, text } from "./json-members.ts";
import type { ReviewClient } from "./review-client.ts";

/** A notification on its way to a receiver. */
export interface Delivery {
  readonly id: string;
  readonly requestId: string;
  readonly instance: { readonly id: string; readonly name: string };
  /** waiting, in_flight or ended */
  readonly status: string;
  /** Origin of the receiver; undefined when it is gone. */
  readonly destination: string | undefined;
  readonly attempts: number;
  readonly lastAttempt: Attempt | undefined;
  readonly nextAttemptAt: string | undefined;
  readonly givesUpAt: string;
  readonly createdAt: string;
  readonly endedAt: string | undefined;
  readonly endedBy: string | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

/** A completed one. */
export interface Attempt {
  readonly at: string;
  readonly outcome: string;
  readonly httpStatus: string | undefined;
}

export interface DeliveryListing {
  readonly deliveries: readonly Delivery[];
  /** The server's time, epoch ms. */
  readonly now: number;
  readonly next: string | undefined;
}

/** The most that the server puts on a page. */
const PAGE_LIMIT = 200;

const DELIVERIES = "/deliveries";

export class DeliveryClient {
  readonly #review: ReviewClient;

  constructor(review: ReviewClient) {
    this.#review = review;
  }

  /** The server's time at its last answer, epoch ms. */
  get now(): number {
    return this.#review.now;
  }

  /** Follows the pages up to `limit` deliveries; `next` is set when there are more. */
  async list(state: "waiting" | "ended", limit: number): Promise<DeliveryListing> {
    let page = await this.#page(state, limit);
    const deliveries = [...page.deliveries];
    while (page.next !== undefined && deliveries.length < limit) {
      page = await this.#page(state, limit - deliveries.length, page.next);
      deliveries.push(...page.deliveries);
    }
    return { ...page, deliveries };
  }

  async #page(state: string, count: number, after?: string): Promise<DeliveryListing> {
    const limit = Math.min(count, PAGE_LIMIT);
    const query = new URLSearchParams({ state, limit: String(limit), ...(after && { after }) });
    const answer = await this.#review.exchange("GET", `${DELIVERIES}?${query}`);
    const deliveries = answer.members.get("deliveries");
    const now = text(answer, "now");
    if (!(deliveries instanceof JsonArray) || now === undefined) throw this.#review.stranger();
    return {
      deliveries: deliveries.items.map((item) => this.#delivery(item)),
      now: Date.parse(now),
      next: text(answer, "next"),
    };
  }

  /** @param id its own, or that of its request */
  async show(id: string): Promise<Delivery> {
    const path = `${DELIVERIES}/${encodeURIComponent(id)}`;
    return this.#delivery(await this.#review.exchange("GET", path));
  }

  /** Makes it due now. */
  async retry(id: string): Promise<Delivery> {
    const path = `${DELIVERIES}/${encodeURIComponent(id)}/retry`;
    return this.#delivery(await this.#review.exchange("POST", path));
  }

  /** Makes all due now that wait under an instance. */
  async retryInstance(
    instanceId: string,
  ): Promise<{ readonly hurried: number; readonly source: string }> {
    const body = JSON.stringify({ instance_id: instanceId });
    const answer = await this.#review.exchange("POST", `${DELIVERIES}/retry`, body);
    const hurried = text(answer, "hurried");
    if (hurried === undefined) throw this.#review.stranger();
    return { hurried: Number(hurried), source: answer.source };
  }

  /** @throws CommandError when the answer is no delivery */
  #delivery(value: JsonValue): Delivery {
    const delivery = value instanceof JsonObject ? toDelivery(value) : undefined;
    if (delivery === undefined) throw this.#review.stranger();
    return delivery;
  }
}

const TEXTS = ["id", "request_id", "status", "attempts", "gives_up_at", "created_at"] as const;

/** @returns undefined when it is not a delivery as the reviewer surface shows one */
function toDelivery(value: JsonObject): Delivery | undefined {
  const texts = TEXTS.map((name) => text(value, name) ?? "");
  const [id = "", requestId = "", status = "", attempts, givesUpAt = "", createdAt = ""] = texts;
  const instance = object(value, "instance");
  const last = object(value, "last_attempt");
  if (texts.includes("") || instance === undefined) return undefined;
  return {
    id,
    requestId,
    status,
    givesUpAt,
    createdAt,
    instance: { id: text(instance, "id") ?? "", name: text(instance, "name") ?? "" },
    destination: text(value, "destination"),
    attempts: Number(attempts),
    lastAttempt: last && {
      at: text(last, "at") ?? "",
      outcome: text(last, "outcome") ?? "",
      httpStatus: text(last, "http_status"),
    },
    nextAttemptAt: text(value, "next_attempt_at"),
    endedAt: text(value, "ended_at"),
    endedBy: text(value, "ended_by"),
    source: value.source,
  };
}
