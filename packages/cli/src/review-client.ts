/**
 * The reviewer surface as a client sees it. Answers are read without loss, so that what is shown
 * and hashed is the stored text itself.
 */

import { createHash } from "node:crypto";
import { JsonNumber, JsonObject, type JsonValue, parseJson } from "@countersign/protocol";
import { CommandError, EXIT } from "./exit.ts";

/** A request as the reviewer surface answers it. */
export interface ReviewedRequest {
  readonly id: string;
  readonly tool: string;
  readonly instance: { readonly id: string; readonly name: string };
  /** The exact stored text. */
  readonly argumentsText: string;
  /** Computed here, from the text that will be shown. */
  readonly argumentsSha256: string;
  readonly reasoning: string | undefined;
  /** The exact stored text. */
  readonly contextText: string | undefined;
  readonly status: string;
  readonly createdAt: string;
  readonly deadlineAt: string;
  readonly decision: ReviewedDecision | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

export interface ReviewedDecision {
  readonly note: string | undefined;
  readonly decidedAt: string;
  readonly expiresAt: string | undefined;
  readonly by: string | undefined;
}

export interface Listing {
  readonly requests: readonly ReviewedRequest[];
  /** The server's time, epoch ms: what is left of a window is counted from it. */
  readonly now: number;
  readonly next: string | undefined;
}

/** Bounds an exchange: the reviewer surface holds none open. */
const EXCHANGE_MS_MAX = 15_000;

/** Deeper than the server accepts, because the answer wraps what it accepted. */
const ANSWER_LIMITS = { depthMax: 1_000, numberCharsMax: 1_000_000 };

export class ReviewClient {
  readonly #base: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#base = `${url.replace(/\/+$/, "")}/review/v1/requests`;
    this.#token = token;
  }

  async list(state: string, limit: number, after?: string): Promise<Listing> {
    const query = new URLSearchParams({ state, limit: String(limit), ...(after && { after }) });
    const answer = await this.#exchange("GET", `?${query}`);
    const requests = answer.members.get("requests");
    const items = requests !== undefined && requests !== null && typeof requests === "object";
    const list = items && "items" in requests ? requests.items : [];
    return {
      requests: list.map(toRequest),
      now: Date.parse(text(answer, "now") ?? ""),
      next: text(answer, "next"),
    };
  }

  async show(id: string): Promise<ReviewedRequest> {
    return toRequest(await this.#exchange("GET", `/${encodeURIComponent(id)}`));
  }

  async decide(
    id: string,
    verdict: Readonly<Record<string, string | undefined>>,
  ): Promise<ReviewedRequest> {
    const path = `/${encodeURIComponent(id)}/verdict`;
    return toRequest(await this.#exchange("POST", path, JSON.stringify(verdict)));
  }

  async #exchange(method: string, path: string, body?: string): Promise<JsonObject> {
    let response: Response;
    let answer: string;
    try {
      response = await fetch(this.#base + path, {
        method,
        redirect: "error",
        signal: AbortSignal.timeout(EXCHANGE_MS_MAX),
        headers: {
          authorization: `Bearer ${this.#token}`,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body }),
      });
      answer = await response.text();
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
      throw unreachable(`${new URL(this.#base).origin} cannot be reached: ${reason}`);
    }
    const json = readAnswer(answer);
    if (json === undefined) throw unreachable(`the answer (${response.status}) is not ours`);
    if (!response.ok) throw refusal(response.status, json);
    return json;
  }
}

function readAnswer(answer: string): JsonObject | undefined {
  try {
    const json = parseJson(answer, ANSWER_LIMITS);
    return json instanceof JsonObject ? json : undefined;
  } catch {
    return undefined;
  }
}

function refusal(status: number, json: JsonObject): CommandError {
  const error = object(json, "error");
  const code = (error && text(error, "code")) ?? `http_${status}`;
  const message = (error && text(error, "message")) ?? `the server answered ${status}`;
  return new CommandError(status >= 500 ? EXIT.unreachable : EXIT.refused, code, message);
}

function unreachable(message: string): CommandError {
  return new CommandError(EXIT.unreachable, "unreachable", message);
}

function toRequest(value: JsonValue): ReviewedRequest {
  if (!(value instanceof JsonObject)) throw unreachable("the answer is not a request");
  const instance = object(value, "instance");
  const argumentsText = object(value, "arguments")?.source ?? "";
  const decision = object(value, "decision");
  return {
    id: text(value, "id") ?? "",
    tool: text(value, "tool") ?? "",
    instance: {
      id: (instance && text(instance, "id")) ?? "",
      name: (instance && text(instance, "name")) ?? "",
    },
    argumentsText,
    argumentsSha256: createHash("sha256").update(argumentsText).digest("hex"),
    reasoning: text(value, "agent_reasoning"),
    contextText: object(value, "context")?.source,
    status: text(value, "status") ?? "",
    createdAt: text(value, "created_at") ?? "",
    deadlineAt: text(value, "deadline_at") ?? "",
    decision: decision && {
      note: text(decision, "note"),
      decidedAt: text(decision, "decided_at") ?? "",
      expiresAt: text(decision, "expires_at"),
      by: text(value, "decided_by"),
    },
    source: value.source,
  };
}

function object(parent: JsonObject, name: string): JsonObject | undefined {
  const value = parent.members.get(name);
  return value instanceof JsonObject ? value : undefined;
}

function text(parent: JsonObject, name: string): string | undefined {
  const value = parent.members.get(name);
  if (value instanceof JsonNumber) return value.source;
  return typeof value === "string" ? value : undefined;
}
