/**
 * Compares archived approvals with the requirements of their requests. Memory holds the requests
 * that were pending together.
 */

import {
  findMissingProof,
  type PastRequest,
  readOpened,
  requirementOf,
  Votes,
} from "../audit/approval-proofs.ts";
import { type AddedPasskeys, findForeignKey } from "../audit/entry-checks.ts";
import { found } from "../audit/finding.ts";
import type { EntryContent } from "../core/audit-line.ts";
import { requestIdOf, transitionsOf } from "../core/request-entry.ts";
import type { Reader } from "../storage/store.ts";

/** Kinds that can be missing for an approval, and the approval. */
const COMPARED: ReadonlySet<string> = new Set(["vote.cast", "vote.withdrawn", "request.resolved"]);

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
   * By request: votes and resolutions that the archive has before its opening. Ids within one
   * millisecond are unordered, and an entry that was committed late is sealed late.
   */
  readonly #early = new Map<string, Suspect[]>();
  /** Approvals without a proof so far: an entry that was sealed late can follow. */
  readonly #suspects: Suspect[] = [];

  constructor(reader: Reader, projectId: string, passkeys: AddedPasskeys) {
    this.#reader = reader;
    this.#projectId = projectId;
    this.#passkeys = passkeys;
  }

  /**
   * Call it in the order of the positions.
   *
   * @throws FindingError for a foreign signature, or a second opening
   */
  async add(position: number, entry: EntryContent): Promise<void> {
    const message = findForeignKey(entry, this.#passkeys);
    if (message !== undefined) throw found("entry", placeOf({ position, entry }), message);
    const requestId = requestIdOf(entry);
    if (requestId === undefined) return;
    const past = this.#pending.get(requestId);
    const isOpening = transitionsOf(entry).includes("request.opened");
    if (isOpening && past !== undefined) {
      throw found("entry", placeOf({ position, entry }), "its request was opened before");
    }
    const opened = isOpening ? await this.#open(requestId, entry) : past;
    if (opened !== undefined) return this.#addTo(opened, requestId, { position, entry });
    if (!COMPARED.has(entry.kind)) return;
    const early = this.#early.get(requestId) ?? [];
    this.#early.set(requestId, early);
    early.push({ position, entry });
  }

  /** Call it after the last entry. @throws FindingError for an approval without its proofs */
  async end(): Promise<void> {
    for (const [requestId, early] of [...this.#early]) {
      // The archive can end before it.
      const opened = await readOpened(this.#reader, this.#projectId, requestId);
      if (opened !== undefined) await this.#open(requestId, opened);
      else assertNotApproved(early);
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

  async #open(requestId: string, opened: EntryContent): Promise<PastRequest> {
    const early = this.#early.get(requestId) ?? [];
    this.#early.delete(requestId);
    const past = { requirement: requirementOf(opened), votes: new Votes() };
    this.#pending.set(requestId, past);
    for (const suspect of early) await this.#addTo(past, requestId, suspect);
    return past;
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

/** @throws FindingError for an approval */
function assertNotApproved(early: readonly Suspect[]): void {
  const approval = early.find(({ entry }) => entry.detail.status === "approved");
  if (approval === undefined) return;
  const message = "its request was resolved before, or has no entry of its opening";
  throw found("entry", placeOf(approval), message);
}

function placeOf({ position, entry: { id, kind, at } }: Suspect) {
  return { position, id, kind, at };
}
