/**
 * Policies as the reviewer surface answers them: those of the token's project, or the floor.
 */

import type { Finding } from "@countersign/command-line";
import { JsonArray, JsonObject } from "@countersign/protocol";
import { object, text, texts } from "./json-members.ts";
import { findings, type ReviewClient } from "./review-client.ts";

/** A published version; number 0 is none. */
export interface PolicyVersion {
  readonly number: number;
  readonly sha256: string;
  readonly note: string | undefined;
  readonly publishedAt: string;
  /** The name, where it is known, else kind:id. */
  readonly publishedBy: string;
  /** Undefined in lists. */
  readonly policy: string | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

/** What somebody wrote for another person to publish. */
export interface PolicyProposal {
  readonly id: string;
  /** open, outdated, published or rejected. */
  readonly state: string;
  /** The version that it began from; 0 for none. */
  readonly baseNumber: number;
  readonly sha256: string;
  readonly note: string | undefined;
  /** How many it brings; all passed when it was proposed. */
  readonly tests: number;
  readonly proposedAt: string;
  /** The name, where it is known, else kind:id; so is `closedBy`. */
  readonly proposedBy: string;
  /** Why whoever asks may not publish it. */
  readonly refusal: string | undefined;
  readonly closedBy: string | undefined;
  readonly reason: string | undefined;
  /** Undefined in lists. */
  readonly policy: string | undefined;
  /** The whole answer as it was received. */
  readonly source: string;
}

/** How a change on which a draft says something else is told, and how many there are. */
export type SimulationLine =
  | { readonly kind: "started"; readonly total: number | undefined; readonly source: string }
  | { readonly kind: "progress"; readonly replayed: number; readonly source: string }
  | { readonly kind: "changed"; readonly change: SimulatedChange; readonly source: string }
  | { readonly kind: "summary"; readonly summary: SimulationSummary; readonly source: string };

export interface SimulatedChange {
  readonly id: string;
  readonly tool: string;
  readonly instance: string;
  readonly was: string;
  readonly wouldBe: string;
  readonly because: string;
  readonly status: string;
  /** Where people are asked as before: in what it takes to decide. */
  readonly differs: readonly string[];
}

export interface SimulationSummary {
  readonly replayed: number;
  readonly unchanged: number;
  /** By kind, like `ask->approve`. */
  readonly changes: ReadonlyMap<string, number>;
  /** People are asked as before, and it takes something else to decide. */
  readonly requirementChanged: number;
  /** Requests that are damaged. */
  readonly unreadable: number;
  readonly errors: number;
  readonly ended: string;
}

/** The most that the server puts on a page. */
const PAGE_LIMIT = 200;

export class PolicyClient {
  readonly #review: ReviewClient;
  readonly #path: string;

  constructor(review: ReviewClient, isFloor: boolean) {
    this.#review = review;
    this.#path = isFloor ? "/floor" : "/policy";
  }

  /** @param number undefined: the one in force */
  async show(number?: string): Promise<PolicyVersion> {
    const version = number === undefined ? "" : `/versions/${encodeURIComponent(number)}`;
    return this.#version(await this.#review.exchange("GET", this.#path + version));
  }

  /** Up to `limit` versions, the newest first. */
  async history(limit: number): Promise<{ versions: PolicyVersion[]; isMore: boolean }> {
    const { items, isMore } = await this.#list("versions", limit, {});
    return { versions: items.map((item) => this.#version(item)), isMore };
  }

  /** Up to `limit` proposals, the newest first. */
  async proposals(
    state: "open" | "closed",
    limit: number,
  ): Promise<{ proposals: PolicyProposal[]; isMore: boolean }> {
    const { items, isMore } = await this.#list("proposals", limit, { state });
    return { proposals: items.map((item) => this.#proposal(item)), isMore };
  }

  /** Follows the pages of a listing. */
  async #list(
    what: "versions" | "proposals",
    limit: number,
    wish: Readonly<Record<string, string>>,
  ): Promise<{ items: JsonObject[]; isMore: boolean }> {
    const found: JsonObject[] = [];
    let next: string | undefined;
    do {
      const count = String(Math.min(limit - found.length, PAGE_LIMIT));
      const query = new URLSearchParams({ ...wish, limit: count, ...(next && { after: next }) });
      const page = await this.#review.exchange("GET", `${this.#path}/${what}?${query}`);
      const items = page.members.get(what);
      if (!(items instanceof JsonArray)) throw this.#review.stranger();
      for (const item of items.items) {
        if (!(item instanceof JsonObject)) throw this.#review.stranger();
        found.push(item);
      }
      next = text(page, "next");
    } while (next !== undefined && found.length < limit);
    return { items: found, isMore: next !== undefined };
  }

  /** Why the server would not publish it. */
  async check(policy: string): Promise<readonly Finding[]> {
    const body = JSON.stringify({ source: policy });
    const answer = await this.#review.exchange("POST", `${this.#path}/check`, body);
    const found = findings(answer);
    if (found === undefined) throw this.#review.stranger();
    return found;
  }

  /** @param order as the exchange takes it */
  async publish(order: Readonly<Record<string, unknown>>): Promise<PolicyVersion> {
    const answer = await this.#review.exchange("POST", this.#path, JSON.stringify(order));
    return this.#version(answer);
  }

  /** @param order as the exchange takes it */
  async rollback(order: Readonly<Record<string, unknown>>): Promise<PolicyVersion> {
    const path = `${this.#path}/rollback`;
    return this.#version(await this.#review.exchange("POST", path, JSON.stringify(order)));
  }

  async proposal(id: string): Promise<PolicyProposal> {
    return this.#proposal(await this.#review.exchange("GET", this.#proposalPath(id)));
  }

  /** @param order as the exchange takes it */
  async propose(order: Readonly<Record<string, unknown>>): Promise<PolicyProposal> {
    const path = `${this.#path}/proposals`;
    return this.#proposal(await this.#review.exchange("POST", path, JSON.stringify(order)));
  }

  async publishProposal(id: string): Promise<PolicyVersion> {
    const path = `${this.#proposalPath(id)}/publish`;
    return this.#version(await this.#review.exchange("POST", path));
  }

  async reject(id: string, note: string | undefined): Promise<PolicyProposal> {
    const body = JSON.stringify(note === undefined ? {} : { note });
    const path = `${this.#proposalPath(id)}/reject`;
    return this.#proposal(await this.#review.exchange("POST", path, body));
  }

  #proposalPath(id: string): string {
    return `${this.#path}/proposals/${encodeURIComponent(id)}`;
  }

  /** @param order as the exchange takes it */
  async *simulate(order: Readonly<Record<string, unknown>>): AsyncGenerator<SimulationLine> {
    const path = `${this.#path}/simulate`;
    for await (const answer of this.#review.lines(path, JSON.stringify(order))) {
      const line = toLine(answer);
      if (line === undefined) throw this.#review.stranger();
      yield line;
      if (line.kind === "summary") return;
    }
    // Cut off, whatever came before: nothing can be said of the whole.
    throw this.#review.stranger();
  }

  #proposal(answer: JsonObject): PolicyProposal {
    const [id, state] = [text(answer, "id"), text(answer, "state")];
    if (id === undefined || state === undefined) throw this.#review.stranger();
    return {
      id,
      state,
      baseNumber: countOr0(answer, "base_number"),
      sha256: text(answer, "sha256") ?? "",
      note: text(answer, "note"),
      tests: countOr0(answer, "tests"),
      proposedAt: text(answer, "proposed_at") ?? "",
      proposedBy: text(answer, "proposer") ?? text(answer, "proposed_by") ?? "",
      refusal: text(answer, "refusal"),
      closedBy: text(answer, "closer") ?? text(answer, "closed_by"),
      reason: text(answer, "reason"),
      policy: text(answer, "source"),
      source: answer.source,
    };
  }

  #version(answer: JsonObject): PolicyVersion {
    const number = Number(text(answer, "number"));
    if (!Number.isSafeInteger(number)) throw this.#review.stranger();
    return {
      number,
      sha256: text(answer, "sha256") ?? "",
      note: text(answer, "note"),
      publishedAt: text(answer, "published_at") ?? "",
      publishedBy: text(answer, "publisher") ?? text(answer, "published_by") ?? "",
      policy: text(answer, "source"),
      source: answer.source,
    };
  }
}

/** @returns undefined when it is none that a simulation sends */
function toLine(answer: JsonObject): SimulationLine | undefined {
  const { source } = answer;
  const count = (name: string) => Number(text(answer, name) ?? Number.NaN);
  switch (text(answer, "event")) {
    case "started": {
      const total = text(answer, "total");
      return { kind: "started", total: total === undefined ? undefined : Number(total), source };
    }
    case "progress":
      return { kind: "progress", replayed: count("replayed"), source };
    case "changed":
      return { kind: "changed", change: toChange(answer), source };
    case "summary": {
      const changes = object(answer, "changes");
      if (changes === undefined) return undefined;
      const summary = {
        replayed: count("replayed"),
        unchanged: count("unchanged"),
        changes: new Map([...changes.members.keys()].map((kind) => [kind, countOf(changes, kind)])),
        requirementChanged: countOr0(answer, "requirement_changed"),
        unreadable: countOr0(answer, "unreadable"),
        errors: count("errors"),
        ended: text(answer, "ended") ?? "",
      };
      return { kind: "summary", summary, source };
    }
    default:
      return undefined;
  }
}

function countOf(counts: JsonObject, name: string): number {
  return Number(text(counts, name));
}

/** What servers of before do not tell. */
function countOr0(answer: JsonObject, name: string): number {
  return Number(text(answer, name) ?? 0);
}

function toChange(answer: JsonObject): SimulatedChange {
  const instance = object(answer, "instance");
  return {
    id: text(answer, "id") ?? "",
    tool: text(answer, "tool") ?? "",
    instance: (instance && text(instance, "name")) ?? "",
    was: text(answer, "was") ?? "",
    wouldBe: text(answer, "would_be") ?? "",
    because: text(answer, "because") ?? "",
    status: text(answer, "status") ?? "",
    differs: texts(answer, "differs"),
  };
}
