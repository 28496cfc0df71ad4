/** Finds the audit entries of a request: in the database, and in an archive. */

import { readTransitions } from "../audit/approval-proofs.ts";
import type { EntryContent } from "../core/audit-line.ts";
import type { TransitionKind } from "../core/request-entry.ts";
import type { Reader } from "../storage/store.ts";

/** The part of the log that is not in the database. */
export interface PastEntries {
  /** Epoch ms: its entries are not later. */
  readonly until: number;
  /** Reads the archive; undefined: no archive was given. */
  readonly find?:
    | ((kind: TransitionKind, requestId: string) => EntryContent | undefined)
    | undefined;
}

export class RequestLog {
  notCompared = 0;
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #past: PastEntries | undefined;

  constructor(reader: Reader, projectId: string, past: PastEntries | undefined) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#past = past;
  }

  /** @param at epoch ms */
  async read(
    requestId: string,
    kind: TransitionKind,
    at: number,
  ): Promise<EntryContent | undefined> {
    const transition = { projectId: this.#projectId, requestId, kind, at };
    const [entry] = await readTransitions(this.#reader, transition);
    return entry ?? this.#past?.find?.(kind, requestId);
  }

  /** True when an entry of this time may be in an archive that was not given. */
  isElsewhere(at: number): boolean {
    const past = this.#past;
    return past !== undefined && past.find === undefined && at <= past.until;
  }
}
