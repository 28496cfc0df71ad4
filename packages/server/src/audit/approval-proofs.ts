/**
 * Checks that an approval has the proofs that its requirement demands. The entry `request.opened`
 * records the requirement. Older entries without one demand nothing.
 */

import { timeOfId } from "@countersign/protocol";
import { type EntryContent, readEntry, type StoredEntry, writeEntry } from "../core/audit-line.ts";
import {
  isAuthenticEntry,
  readEntriesAt,
  readEntriesOfRequest,
} from "../storage/sql/audit/audit-entries.ts";
import type { Reader } from "../storage/store.ts";
import { type AddedPasskeys, findForeignKey } from "./entry-checks.ts";
import { verifyProof } from "./passkey-proof.ts";

const ENTRIES_PER_READ = 1_000;

const REQUEST = /^request:/;

/** @returns the missing proof, for people; undefined when it is complete, or for other entries */
export async function findMissingProof(
  reader: Reader,
  row: StoredEntry,
  passkeys: AddedPasskeys,
): Promise<string | undefined> {
  const entry = readEntry(writeEntry(row));
  if (entry?.kind !== "request.resolved" || entry.detail.status !== "approved") return undefined;
  const requestId = entry.subject.replace(REQUEST, "");
  const opened = await readOpened(reader, row.projectId, requestId);
  const requirement = opened?.detail.requirement;
  if (!isRecord(requirement)) return undefined;
  if (entry.actor.startsWith("grant:")) {
    return requirement.grants === true ? undefined : "grant: its request did not allow grants";
  }
  if (!entry.actor.startsWith("reviewer:")) {
    return `actor: its request required reviewers, and ${entry.actor} approved it`;
  }
  const needsPasskey = requirement.confirm === "passkey";
  const approvals = [...(await readVotes(reader, row.projectId, requestId)), entry];
  const counted = approvals.filter((each) => !needsPasskey || isSigned(each, requestId, passkeys));
  const required = Number(requirement.quorum);
  if (needsPasskey && !counted.some(({ actor }) => actor === entry.actor)) {
    return `passkey: its request required a passkey, and ${entry.actor} gave no valid proof`;
  }
  const people = new Set(counted.map(({ actor }) => actor)).size;
  const keys = new Set(counted.flatMap(({ detail }) => credentialOf(detail) ?? [])).size;
  const found = needsPasskey ? Math.min(people, keys) : people;
  if (found >= required) return undefined;
  const proof = needsPasskey ? "approvals with a passkey" : "approvals";
  return `quorum: its request required ${required} ${proof}, and the log has ${found}`;
}

/** The first entry of a request. Its id contains the time of the request. */
export async function readOpened(
  reader: Reader,
  projectId: string,
  requestId: string,
): Promise<EntryContent | undefined> {
  const at = timeOfId(requestId);
  return at === undefined
    ? undefined
    : readTransition(reader, { projectId, requestId, at, kind: "request.opened" });
}

export interface Transition {
  readonly projectId: string;
  readonly requestId: string;
  /** Epoch ms. */
  readonly at: number;
  readonly kind: "request.opened" | "request.resolved";
}

export async function readTransition(
  reader: Reader,
  { projectId, requestId, at, kind }: Transition,
): Promise<EntryContent | undefined> {
  const rows = await readEntriesAt(reader, projectId, at);
  const row = rows.find(
    (each) =>
      each.kind === kind &&
      each.subject === `request:${requestId}` &&
      isAuthenticEntry(reader, each),
  );
  return row && readEntry(writeEntry(row));
}

/** The latest vote of each reviewer that was not withdrawn. */
async function readVotes(
  reader: Reader,
  projectId: string,
  requestId: string,
): Promise<EntryContent[]> {
  const votes = new Map<string, EntryContent>();
  for (let after = ""; ; ) {
    const rows = await readEntriesOfRequest(reader, projectId, requestId, ENTRIES_PER_READ, after);
    for (const row of rows) {
      const entry = isAuthenticEntry(reader, row) ? readEntry(writeEntry(row)) : undefined;
      if (entry?.kind === "vote.cast") votes.set(entry.actor, entry);
      // Ids within one millisecond are unordered, so a vote at the same time may be later.
      const isWithdrawn = entry?.kind === "vote.withdrawn";
      if (isWithdrawn && (votes.get(entry.actor)?.at ?? entry.at) < entry.at) {
        votes.delete(entry.actor);
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ENTRIES_PER_READ) return [...votes.values()];
    after = last.id;
  }
}

function isSigned(entry: EntryContent, requestId: string, passkeys: AddedPasskeys): boolean {
  if (findForeignKey(entry, passkeys) !== undefined) return false;
  return verifyProof(entry.detail, requestId).kind === "proven";
}

function credentialOf({ passkey }: EntryContent["detail"]): unknown {
  return isRecord(passkey) ? passkey.credential_id : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
