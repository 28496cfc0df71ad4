/**
 * Compares archived approvals with the requirements of their requests. Memory holds the requests
 * that were pending together.
 */

import {
  findMissingProof,
  type PastRequest,
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
    if (entry.kind === "request.opened") {
      const requirement = requirementOf(entry);
      if (requirement !== undefined)
        this.#pending.set(requestId, { requirement, votes: new Votes() });
      return;
    }
    const past = this.#pending.get(requestId);
    if (past === undefined) return;
    past.votes.add(entry);
    if (entry.kind !== "request.resolved") return;
    if ((await this.#find(entry, past)) === undefined) this.#pending.delete(requestId);
    else this.#suspects.push({ position, entry });
  }

  /** Call it after the last entry. @throws FindingError for an approval without its proofs */
  async end(): Promise<void> {
    for (const suspect of this.#suspects) {
      const message = await this.#find(suspect.entry, this.find(suspect.entry));
      if (message !== undefined) throw found("entry", placeOf(suspect), message);
    }
  }

  /** The request of an entry; undefined if the archive resolves it. */
  find(entry: EntryContent): PastRequest | undefined {
    return this.#pending.get(requestIdOf(entry) ?? "");
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
