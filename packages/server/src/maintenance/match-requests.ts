/**
 * Matches the rows of requests with the entries of the log while the log is verified, so that no
 * entry is read twice. Both come in the order of their time, with exceptions: an entry that was
 * committed late is sealed late. A match is conclusive, and everything else is left to the caller.
 *
 * Memory holds a few pages of rows, requests that were pending together, and the ids of requests
 * without a match.
 */

import { timeOfId } from "@countersign/protocol";
import type { EntryContent } from "../core/audit-line.ts";
import type { StoredRequest } from "../core/request.ts";
import { requestIdOf, type TransitionKind, transitionsOf } from "../core/request-entry.ts";
import { readRequestsAfter } from "../storage/sql/requests/request-states.ts";
import type { Reader } from "../storage/store.ts";
import { factsOf, findContradiction, findDifference, type RequestFacts } from "./request-facts.ts";

/** Each row has up to 1 MiB of contents. */
export const REQUESTS_PER_READ = 50;

/** A row waits this long for an opening that was sealed late. */
const LATE_MS = 60_000;

interface HeldRow {
  readonly facts: RequestFacts;
  needsOpening: boolean;
  needsResolution: boolean;
}

export interface Unmatched {
  /** Requests with an entry that is missing or differs, in their order. */
  readonly ids: readonly string[];
  /** Id of the first row that no server wrote. Later rows are not in `ids`. */
  readonly foreign: string | undefined;
}

export class RequestMatches {
  readonly #reader: Reader;
  readonly #projectId: string;
  /** Id of the last row that was read. */
  #after: string;
  /** Rows without a matching opening so far, in the order of their ids. */
  readonly #unopened = new Map<string, HeldRow>();
  /** Rows that are opened and decided, without a matching resolution so far. */
  readonly #unresolved = new Map<string, HeldRow>();
  readonly #unmatched: string[] = [];
  #foreign: string | undefined;

  /** @param after an id: only later requests are read */
  constructor(reader: Reader, projectId: string, after: string) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#after = after;
  }

  /**
   * @param entries authentic openings and resolutions
   * @returns those that do not match a row in memory
   */
  async take(entries: readonly EntryContent[]): Promise<EntryContent[]> {
    const times = entries.map(({ id }) => timeOfId(id) ?? 0);
    const [earliest, latest] = [Math.min(...times), Math.max(...times)];
    // At most one page for each entry, because a wrong clock makes an id that is far ahead.
    for (let pages = 0; pages < entries.length && this.#readUntil <= latest; pages++) {
      if (!(await this.#addRows())) break;
    }
    const others = entries.filter((entry) => !this.#match(entry));
    this.#giveUpBefore(earliest - LATE_MS);
    return others;
  }

  /** Reads the remaining rows. */
  async end(): Promise<Unmatched> {
    const ids = [...this.#unmatched, ...this.#unopened.keys(), ...this.#unresolved.keys()];
    for (let rows = await this.#readRows(); rows.length > 0; rows = await this.#readRows()) {
      for (const { id } of rows) ids.push(id);
    }
    return { ids: ids.sort(), foreign: this.#foreign };
  }

  /** Epoch ms: all earlier requests were read. */
  get #readUntil(): number {
    return timeOfId(this.#after) ?? 0;
  }

  /** @returns false when there are no more rows */
  async #addRows(): Promise<boolean> {
    const requests = await this.#readRows();
    for (const request of requests) {
      const needsResolution = request.decision !== null;
      const row = { facts: factsOf(request), needsOpening: true, needsResolution };
      this.#unopened.set(request.id, row);
    }
    return requests.length > 0;
  }

  /** Reads no row behind the first foreign one: that one is a finding. */
  async #readRows(): Promise<StoredRequest[]> {
    const requests: StoredRequest[] = [];
    if (this.#foreign !== undefined) return requests;
    const limit = REQUESTS_PER_READ;
    const rows = await readRequestsAfter(this.#reader, this.#projectId, this.#after, limit);
    for (const { id, request } of rows) {
      // A text that is not valid UTF-8 is read as another one, which finds no row.
      if (request === undefined || timeOfId(id) === undefined) {
        this.#foreign = id;
        break;
      }
      this.#after = id;
      requests.push(request);
    }
    return requests;
  }

  #match(entry: EntryContent): boolean {
    const id = requestIdOf(entry) ?? "";
    const row = this.#unopened.get(id) ?? this.#unresolved.get(id);
    if (row === undefined) return false;
    const kinds = transitionsOf(entry);
    if (!kinds.every((kind) => isMatch(row.facts, kind, entry))) return false;
    if (kinds.includes("request.opened")) row.needsOpening = false;
    if (kinds.includes("request.resolved")) row.needsResolution = false;
    if (row.needsOpening) return true;
    this.#unopened.delete(id);
    if (row.needsResolution) this.#unresolved.set(id, row);
    else this.#unresolved.delete(id);
    return true;
  }

  #giveUpBefore(time: number): void {
    for (const id of this.#unopened.keys()) {
      if ((timeOfId(id) ?? 0) >= time) return;
      this.#unopened.delete(id);
      this.#unmatched.push(id);
    }
  }
}

/** The time in the id of an entry is that of its transition. */
function isMatch(facts: RequestFacts, kind: TransitionKind, entry: EntryContent): boolean {
  const at = kind === "request.opened" ? facts.createdAt : facts.decidedAt;
  if (timeOfId(entry.id) !== at || findDifference(facts, entry) !== undefined) return false;
  return kind === "request.opened" || findContradiction(entry, facts) === undefined;
}
