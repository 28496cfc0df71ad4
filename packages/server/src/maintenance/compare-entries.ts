/**
 * Compares openings and resolutions in the log with the rows of their requests, which are read
 * after them. A transaction writes both, so concurrent writes of a server cause no finding.
 */

import { timeOfId } from "@countersign/protocol";
import type { Finding } from "../audit/finding.ts";
import type { Clock } from "../clock.ts";
import type { EntryContent } from "../core/audit-line.ts";
import { requestIdOf, transitionsOf } from "../core/request-entry.ts";
import { REQUEST_STATES_MAX, readRequestStates } from "../storage/sql/requests/request-states.ts";
import type { Reader } from "../storage/store.ts";
import { findContradiction } from "./request-facts.ts";
import { alteredRequest, missingRequest } from "./request-findings.ts";
import type { RequestLog } from "./request-log.ts";

/** Minimum retention of decided requests. @see contract: Endpoints, POST /v1/requests */
const KEPT_MS_MIN = 168 * 3_600_000;

export class EntryComparison {
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #clock: Pick<Clock, "now">;
  #waiting: EntryContent[] = [];
  #finding: Finding | undefined;
  /** Opened requests without a row or a resolution so far: they are purged if one follows. */
  readonly #gone = new Set<string>();
  /** Requests without a row or an opening so far: one that was committed late can follow. */
  readonly #ended = new Set<string>();

  /** @param clock that of the database */
  constructor(reader: Reader, projectId: string, clock: Pick<Clock, "now">) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#clock = clock;
  }

  /** @param entries authentic openings and resolutions */
  async take(entries: readonly EntryContent[]): Promise<void> {
    this.#waiting.push(...entries);
    while (this.#waiting.length >= REQUEST_STATES_MAX) await this.#compare();
  }

  /** @returns the first difference */
  async end(log: RequestLog): Promise<Finding | undefined> {
    while (this.#waiting.length > 0) await this.#compare();
    return this.#finding ?? (await this.#findLost(log));
  }

  async #compare(): Promise<void> {
    const entries = this.#waiting.splice(0, REQUEST_STATES_MAX);
    const ids = [...new Set(entries.map((entry) => requestIdOf(entry) ?? ""))];
    const states = await readRequestStates(this.#reader, this.#projectId, ids);
    for (const entry of entries) {
      const id = requestIdOf(entry) ?? "";
      const state = states.get(id);
      if (state === undefined) this.#finding ??= this.#withoutRow(id, entry);
      else if (entry.kind === "request.resolved") {
        const message = findContradiction(entry, state);
        if (message !== undefined) this.#finding ??= alteredRequest(this.#projectId, id, message);
      }
    }
  }

  #withoutRow(id: string, entry: EntryContent): Finding | undefined {
    if (entry.kind !== "request.resolved") {
      if (!this.#ended.has(id)) this.#gone.add(id);
      return undefined;
    }
    const isWhole = this.#gone.delete(id) || transitionsOf(entry).includes("request.opened");
    if (!isWhole) this.#ended.add(id);
    if (this.#clock.now() - entry.at >= KEPT_MS_MIN) return undefined;
    const message = "its row is missing, but it was resolved within the last 168 h";
    return missingRequest(this.#projectId, id, message);
  }

  /** Opened requests that the log does not resolve. */
  async #findLost(log: RequestLog): Promise<Finding | undefined> {
    for (const id of this.#gone) {
      const at = timeOfId(id) ?? 0;
      // Ids within one millisecond are unordered.
      const resolved = await log.read(id, "request.resolved", at);
      if (resolved !== undefined || log.isElsewhere(at)) continue;
      const message = "its row is missing, but it is pending in the log";
      return missingRequest(this.#projectId, id, message);
    }
    return undefined;
  }
}
