/**
 * Compares archived approvals with the requirements of their requests. Memory holds the requests
 * that were pending together.
 */

import { timeOfId } from "@countersign/protocol";
import {
  findMissingProof,
  type PastRequest,
  readOpened,
  requestIdOf,
  requirementOf,
  Votes,
} from "../audit/approval-proofs.ts";
import { type AddedPasskeys, findForeignKey } from "../audit/entry-checks.ts";
import { found } from "../audit/finding.ts";
import type { EntryContent } from "../core/audit-line.ts";
import type { Reader } from "../storage/store.ts";

interface Suspect {
  readonly position: number;
  readonly entry: EntryContent;
}

export class ArchivedApprovals {
  readonly #reader: Reader;
  readonly #projectId: string;
  readonly #passkeys: AddedPasskeys;
  /** By id. */
  readonly #pending = new Map<string, PastRequest>();
  /**
   * By request: entries before `request.opened`. Ids within one millisecond are unordered, so its
   * votes and its approval can be before it.
   */
  readonly #early = new Map<string, Suspect[]>();
  /** Approvals without a proof so far: an entry that was sealed late can follow. */
  readonly #suspects: Suspect[] = [];

  constructor(reader: Reader, projectId: string, passkeys: AddedPasskeys) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#passkeys = passkeys;
  }

  /** Call it in the order of the positions. @throws FindingError for a foreign signature */
  async add(position: number, entry: EntryContent): Promise<void> {
    const message = findForeignKey(entry, this.#passkeys);
    if (message !== undefined) throw found("entry", placeOf({ position, entry }), message);
    const requestId = requestIdOf(entry);
    if (requestId === undefined) return;
    if (entry.kind === "request.opened") return this.#open(requestId, entry);
    const past = this.#pending.get(requestId);
    if (past !== undefined) return this.#addTo(past, requestId, { position, entry });
    if (entry.at > (timeOfId(requestId) ?? 0)) return;
    const early = this.#early.get(requestId) ?? [];
    this.#early.set(requestId, early);
    early.push({ position, entry });
  }

  /** Call it after the last entry. @throws FindingError for an approval without its proofs */
  async end(): Promise<void> {
    for (const requestId of [...this.#early.keys()]) {
      // The archive can end between entries of one millisecond.
      const opened = await readOpened(this.#reader, this.#projectId, requestId);
      if (opened !== undefined) await this.#open(requestId, opened);
    }
    for (const suspect of this.#suspects) {
      const message = await this.#find(suspect.entry, this.find(suspect.entry));
      if (message !== undefined) throw found("entry", placeOf(suspect), message);
    }
  }

  /** The request of an entry; undefined if the archive resolves it. */
  find(entry: EntryContent): PastRequest | undefined {
    return this.#pending.get(requestIdOf(entry) ?? "");
  }

  async #open(requestId: string, opened: EntryContent): Promise<void> {
    const early = this.#early.get(requestId) ?? [];
    this.#early.delete(requestId);
    const past = { requirement: requirementOf(opened), votes: new Votes() };
    this.#pending.set(requestId, past);
    for (const suspect of early) await this.#addTo(past, requestId, suspect);
  }

  async #addTo(past: PastRequest, requestId: string, suspect: Suspect): Promise<void> {
    const { entry } = suspect;
    past.votes.add(entry);
    if (entry.kind !== "request.resolved") return;
    if ((await this.#find(entry, past)) === undefined) this.#pending.delete(requestId);
    else this.#suspects.push(suspect);
  }

  #find(entry: EntryContent, past: PastRequest | undefined): Promise<string | undefined> {
    return findMissingProof(this.#reader, this.#projectId, entry, {
      passkeys: this.#passkeys,
      past,
    });
  }
}

function placeOf({ position, entry: { id, kind, at } }: Suspect) {
  return { position, id, kind, at };
}
