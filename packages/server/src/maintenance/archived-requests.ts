/**
 * Collects the archived entries of the requests that are still in the database, for a comparison.
 * Memory holds these entries, and one page of others.
 */

import type { EntryContent } from "../core/audit-line.ts";
import { type TransitionKind, transitionsOf } from "../core/request-transitions.ts";
import { REQUEST_STATES_MAX, readRequestStates } from "../storage/sql/requests/request-states.ts";
import type { Reader } from "../storage/store.ts";

const SUBJECT = /^request:/;

export class ArchivedRequests {
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #found = new Map<string, EntryContent>();
  #page: EntryContent[] = [];

  constructor(reader: Reader, projectId: string) {
    this.#reader = reader;
    this.#projectId = projectId;
  }

  async add(entry: EntryContent): Promise<void> {
    if (transitionsOf(entry).length === 0) return;
    this.#page.push(entry);
    if (this.#page.length === REQUEST_STATES_MAX) await this.flush();
  }

  /** Call it after the last entry. */
  async flush(): Promise<void> {
    const page = this.#page.splice(0);
    const ids = page.map(({ subject }) => subject.replace(SUBJECT, ""));
    const states = await readRequestStates(this.#reader, this.#projectId, [...new Set(ids)]);
    for (const [i, entry] of page.entries()) {
      const id = ids[i] ?? "";
      if (!states.has(id)) continue;
      for (const kind of transitionsOf(entry)) this.#keep(`${kind} ${id}`, entry);
    }
  }

  /** The first one: a later one, which an insider wrote, does not replace it. */
  #keep(name: string, entry: EntryContent): void {
    if (!this.#found.has(name)) this.#found.set(name, entry);
  }

  find(kind: TransitionKind, requestId: string): EntryContent | undefined {
    return this.#found.get(`${kind} ${requestId}`);
  }
}
