/**
 * Collects the archived entries of the requests that are still in the database, for a comparison.
 * It keeps these entries in memory, and at most one page of others.
 */

import { found } from "../audit/finding.ts";
import type { EntryContent } from "../core/audit-line.ts";
import { requestIdOf, type TransitionKind, transitionsOf } from "../core/request-entry.ts";
import { REQUEST_STATES_MAX, readRequestStates } from "../storage/sql/requests/request-states.ts";
import type { Reader } from "../storage/store.ts";

export class ArchivedRequests {
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #found = new Map<string, EntryContent>();
  #page: { readonly position: number; readonly entry: EntryContent }[] = [];

  constructor(reader: Reader, projectId: string) {
    this.#reader = reader;
    this.#projectId = projectId;
  }

  /**
   * Call it in the order of the positions.
   *
   * @throws FindingError as {@link flush}
   */
  async add(position: number, entry: EntryContent): Promise<void> {
    if (transitionsOf(entry).length === 0) return;
    this.#page.push({ position, entry });
    if (this.#page.length === REQUEST_STATES_MAX) await this.flush();
  }

  /**
   * Call it after the last entry.
   *
   * @throws FindingError when two entries record the same transition: the server writes one
   */
  async flush(): Promise<void> {
    const page = this.#page.splice(0);
    const ids = page.map(({ entry }) => requestIdOf(entry) ?? "");
    const states = await readRequestStates(this.#reader, this.#projectId, [...new Set(ids)]);
    for (const [i, { position, entry }] of page.entries()) {
      const requestId = ids[i] ?? "";
      if (!states.has(requestId)) continue;
      for (const kind of transitionsOf(entry)) {
        if (this.find(kind, requestId) !== undefined) {
          const { id, kind: entryKind, at } = entry;
          const message = `its request was ${kind.replace("request.", "")} before`;
          throw found("entry", { position, id, kind: entryKind, at }, message);
        }
        this.#found.set(`${kind} ${requestId}`, entry);
      }
    }
  }

  find(kind: TransitionKind, requestId: string): EntryContent | undefined {
    return this.#found.get(`${kind} ${requestId}`);
  }
}
