/**
 * Checks that an approval has the proofs that its requirement demands. The entry of its opening
 * records the requirement. Older entries without one demand nothing.
 */

import { timeOfId } from "@countersign/protocol";
import { type EntryContent, readEntry, writeEntry } from "../core/audit-line.ts";
import { requestIdOf, type TransitionKind, transitionsOf } from "../core/request-entry.ts";
import {
  isAuthenticEntry,
  readEntriesAt,
  readEntriesOfRequest,
} from "../storage/sql/audit/audit-entries.ts";
import type { Reader } from "../storage/store.ts";
import { type AddedPasskeys, findForeignKey } from "./entry-checks.ts";
import { verifyProof } from "./passkey-proof.ts";

const ENTRIES_PER_READ = 1_000;

/** The archived requirement and votes of a request. */
export interface PastRequest {
  /** Undefined in entries of an earlier version. */
  readonly requirement: Requirement | undefined;
  readonly votes: Votes;
}

type Requirement = Readonly<Record<string, unknown>>;

export interface ProofOptions {
  /** Keys of passkeys that may have signed. */
  readonly passkeys: AddedPasskeys;
  /** Undefined when the database has the whole request. */
  readonly past?: PastRequest | undefined;
}

/** @returns the missing proof, for people; undefined when it is complete, or for other entries */
export async function findMissingProof(
  reader: Reader,
  projectId: string,
  entry: EntryContent,
  { passkeys, past }: ProofOptions,
): Promise<string | undefined> {
  const requestId = requestIdOf(entry);
  if (entry.kind !== "request.resolved" || entry.detail.status !== "approved") return undefined;
  if (requestId === undefined) return undefined;
  let requirement = past?.requirement;
  if (requirement === undefined) {
    const [opened, ...others] = await readOpenings(reader, projectId, requestId);
    if (others.length > 0) return "opening: its request was opened more than once";
    requirement = opened && requirementOf(opened);
  }
  if (requirement === undefined) return undefined;
  if (entry.actor.startsWith("grant:")) {
    return requirement.grants === true ? undefined : "grant: its request did not allow grants";
  }
  if (!entry.actor.startsWith("reviewer:")) {
    return `actor: its request required reviewers, and ${entry.actor} approved it`;
  }
  const needsPasskey = requirement.confirm === "passkey";
  const votes = await readVotes(reader, projectId, requestId, past?.votes);
  const approvals = [...votes, entry];
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

/** @returns undefined for an entry of an earlier version, which records none */
export function requirementOf({ detail }: EntryContent): Requirement | undefined {
  return isRecord(detail.requirement) ? detail.requirement : undefined;
}

/** The latest vote of each reviewer that was not withdrawn. */
export class Votes {
  readonly #byActor = new Map<string, EntryContent>();

  /** @param entry of any kind, in the order of the ids */
  add(entry: EntryContent): void {
    if (entry.kind === "vote.cast") this.#byActor.set(entry.actor, entry);
    if (entry.kind !== "vote.withdrawn") return;
    // Ids within one millisecond are unordered, so a vote at the same time may be later.
    const votedAt = this.#byActor.get(entry.actor)?.at ?? entry.at;
    if (votedAt < entry.at) this.#byActor.delete(entry.actor);
  }

  list(): EntryContent[] {
    return [...this.#byActor.values()];
  }
}

/** The entry that opened a request. */
export async function readOpened(
  reader: Reader,
  projectId: string,
  requestId: string,
): Promise<EntryContent | undefined> {
  return (await readOpenings(reader, projectId, requestId))[0];
}

/**
 * The server writes one for each request. The id of the request contains the time of this entry.
 */
async function readOpenings(
  reader: Reader,
  projectId: string,
  requestId: string,
): Promise<EntryContent[]> {
  const at = timeOfId(requestId);
  return at === undefined
    ? []
    : readTransitions(reader, { projectId, requestId, at, kind: "request.opened" });
}

export interface Transition {
  readonly projectId: string;
  readonly requestId: string;
  /** Epoch ms. */
  readonly at: number;
  readonly kind: TransitionKind;
}

/** The authentic entries of a transition. */
export async function readTransitions(
  reader: Reader,
  { projectId, requestId, at, kind }: Transition,
): Promise<EntryContent[]> {
  const rows = await readEntriesAt(reader, projectId, at);
  return rows
    .filter((row) => requestIdOf(row) === requestId && isAuthenticEntry(reader, row))
    .flatMap((row) => readEntry(writeEntry(row)) ?? [])
    .filter((entry) => transitionsOf(entry).includes(kind));
}

/** @param past votes before those in the database */
async function readVotes(
  reader: Reader,
  projectId: string,
  requestId: string,
  past = new Votes(),
): Promise<EntryContent[]> {
  const votes = new Votes();
  for (const vote of past.list()) votes.add(vote);
  for (let after = ""; ; ) {
    const rows = await readEntriesOfRequest(reader, projectId, requestId, ENTRIES_PER_READ, after);
    for (const row of rows) {
      const entry = isAuthenticEntry(reader, row) ? readEntry(writeEntry(row)) : undefined;
      if (entry !== undefined) votes.add(entry);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ENTRIES_PER_READ) return votes.list();
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
