/**
 * Channels as the reviewer surface answers them.
 */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { usageError } from "./exit.ts";
import { object, text } from "./json-members.ts";
import type { ReviewClient } from "./review-client.ts";

export interface Channel {
  readonly id: string;
  readonly name: string;
  /** webhook, email, slack or ntfy */
  readonly kind: string;
  /** Shortened. */
  readonly target: string;
  /** enabled or disabled */
  readonly state: string;
  /** Empty: it tells of all. */
  readonly groups: readonly string[];
  /** Since the last message that arrived. */
  readonly failures: string;
  readonly last: LastSending | undefined;
  /** Of a webhook whose secret was made just now. */
  readonly signingSecret: string | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

export interface LastSending {
  readonly at: string;
  readonly outcome: string;
  readonly status: string | undefined;
}

export interface TestOutcome extends Omit<LastSending, "at"> {
  readonly message: string;
  readonly source: string;
}

const CHANNELS = "/channels";

export class ChannelClient {
  readonly #review: ReviewClient;

  constructor(review: ReviewClient) {
    this.#review = review;
  }

  /** @param order members of the body; what is undefined is not sent */
  async create(order: Readonly<Record<string, unknown>>): Promise<Channel> {
    return this.#channel(await this.#review.exchange("POST", CHANNELS, JSON.stringify(order)));
  }

  async list(): Promise<readonly Channel[]> {
    const answer = await this.#review.exchange("GET", CHANNELS);
    const channels = answer.members.get("channels");
    if (!(channels instanceof JsonArray)) throw this.#review.stranger();
    return channels.items.map((item) => this.#channel(item));
  }

  /** @throws CommandError when the project has no channel of this name or id */
  async find(nameOrId: string): Promise<Channel> {
    const channels = await this.list();
    const found =
      channels.find(({ name }) => name === nameOrId) ?? channels.find(({ id }) => id === nameOrId);
    if (found === undefined) throw usageError("there is no channel of this name or id");
    return found;
  }

  async change({ id }: Channel, change: Readonly<Record<string, unknown>>): Promise<Channel> {
    const path = `${CHANNELS}/${encodeURIComponent(id)}`;
    return this.#channel(await this.#review.exchange("PATCH", path, JSON.stringify(change)));
  }

  async delete({ id }: Channel): Promise<Channel> {
    const path = `${CHANNELS}/${encodeURIComponent(id)}`;
    return this.#channel(await this.#review.exchange("DELETE", path));
  }

  async test({ id }: Channel): Promise<TestOutcome> {
    const path = `${CHANNELS}/${encodeURIComponent(id)}/test`;
    const answer = await this.#review.exchange("POST", path);
    const [outcome, message] = [text(answer, "outcome"), text(answer, "message")];
    if (outcome === undefined || message === undefined) throw this.#review.stranger();
    return { outcome, message, status: text(answer, "status"), source: answer.source };
  }

  /** @throws CommandError when the answer is no channel */
  #channel(value: JsonValue): Channel {
    const channel = value instanceof JsonObject ? toChannel(value) : undefined;
    if (channel === undefined) throw this.#review.stranger();
    return channel;
  }
}

const TEXTS = ["id", "name", "kind", "target", "state", "failures"] as const;

function toChannel(value: JsonObject): Channel | undefined {
  const texts = TEXTS.map((name) => text(value, name) ?? "");
  const [id = "", name = "", kind = "", target = "", state = "", failures = ""] = texts;
  const groups = value.members.get("groups");
  if (texts.includes("") || !(groups instanceof JsonArray)) return undefined;
  const last = object(value, "last");
  return {
    id,
    name,
    kind,
    target,
    state,
    failures,
    groups: groups.items.filter((item) => typeof item === "string"),
    last: last && {
      at: text(last, "at") ?? "",
      outcome: text(last, "outcome") ?? "",
      status: text(last, "status"),
    },
    signingSecret: text(value, "signing_secret"),
    source: value.source,
  };
}
