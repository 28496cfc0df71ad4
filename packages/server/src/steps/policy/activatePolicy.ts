/** Examines a policy, and makes it the active version. */

import { formatTimestamp, Problem, type ProblemFinding } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { Examination } from "../../examiner/examiner.ts";
import type { PolicyActor, PolicyScope } from "../../identity/policy-authority.ts";
import type { Policy } from "../../policy/rule.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { closeProposal, type StoredProposal } from "../../storage/sql/policy/policy-proposals.ts";
import {
  insertPolicyVersion,
  readPolicyNumber,
  readPolicyVersion,
  type StoredPolicyVersion,
} from "../../storage/sql/policy/policy-versions.ts";
import type { Reader, Transaction } from "../../storage/store.ts";
import { readKnownGroups } from "./readKnownGroups.ts";
import type { PublishedPolicy } from "./readPublishers.ts";
import { readPublishers } from "./readPublishers.ts";

/** A policy to activate. */
export interface PolicyDraft {
  readonly scope: PolicyScope;
  /** Id of the project, or `SERVER`. */
  readonly projectId: string;
  readonly source: string;
  /** The active version when the author started; 0: none. */
  readonly expectedNumber: number;
  /** The reason; stored with the version. */
  readonly note: string | null;
  /** The older version with this source, for the audit log. */
  readonly restores?: number | undefined;
  /** The proposal of this policy, which is closed with the publication. */
  readonly proposal?: StoredProposal;
}

export interface PublishOutcome extends PublishedPolicy {
  /** `in_force`: this source is already active, and nothing was written. */
  readonly outcome: "published" | "in_force";
  readonly warnings: readonly ProblemFinding[];
}

/**
 * Checks that the caller may activate this: before the examination, and again in the transaction
 * that writes it.
 *
 * @throws Problem
 */
export type Admission = (reader: Reader) => Promise<void>;

/**
 * Activates a policy for future calls. The judgement of pending requests does not change. Two
 * editors cannot overwrite each other unnoticed: a draft of a version that is no longer active is
 * rejected.
 *
 * @throws Problem from `admit`; `policy_invalid` with all findings when it does not load, names
 * groups without members, or has failing tests; `policy_conflict` when another version than the
 * expected one is active, or the proposal was closed
 */
export async function activatePolicy(
  context: Context,
  by: PolicyActor,
  draft: PolicyDraft,
  admit: Admission,
): Promise<PublishOutcome> {
  const { store } = context;
  const { scope, source, projectId } = draft;
  const current = await readCurrent(store, projectId);
  const isActive = isText(current, source);
  if (!isActive) {
    // Before the tests, which may take long.
    await admit(store);
    await assertExpected(store, by, current, draft);
  }
  const examined = isActive ? undefined : await examineDraft(context, draft);
  const write = (tx: Transaction) => writeVersion(tx, context, by, draft, examined?.policy, admit);
  const { outcome, version } = await store.transact(write);
  if (examined !== undefined) {
    const { policy } = examined;
    context.policies.keep(scope, policy.sha256, { kind: "policy", policy });
  }
  const names = await readPublishers(store, by, [version]);
  const { warnings = [] } = examined ?? {};
  return { outcome, scope, version, names, warnings };
}

/**
 * Examines a draft before its activation.
 *
 * @throws Problem `policy_invalid`
 */
export async function examineDraft(
  { store, examiners, settings }: Context,
  { scope, source, projectId }: Pick<PolicyDraft, "scope" | "source" | "projectId">,
): Promise<Examination & { readonly policy: Policy }> {
  const groups = await readKnownGroups(store, projectId);
  const { retentionMs: keptMs, windowMsMax: timeoutMsMax } = settings;
  const limits = { groups, keptMs, timeoutMsMax };
  const order = { kind: scope, source, ...limits, runsTests: true, wantsPolicy: true };
  const examined = await examiners.drafts.examine(order);
  const { policy, findings } = examined;
  if (policy === undefined || findings.length > 0) throw invalidPolicy(findings);
  return { ...examined, policy };
}

/** The message has the first finding; the problem has all of them. */
export function invalidPolicy(findings: readonly ProblemFinding[]): Problem {
  const { line = 1, column = 1, path = "", message = "" } = findings[0] ?? {};
  const count = findings.length === 1 ? "an error" : `${findings.length} errors, the first`;
  const position = `line ${line}, column ${column}${path === "" ? "" : ` (${path})`}`;
  const text = `The policy has ${count} at ${position}: ${message.replace(/\.$/, "")}.`;
  return new Problem("policy_invalid", text, { param: "source", findings });
}

interface Written {
  readonly outcome: PublishOutcome["outcome"];
  readonly version: StoredPolicyVersion;
}

async function writeVersion(
  tx: Transaction,
  { random }: Context,
  by: PolicyActor,
  draft: PolicyDraft,
  policy: Policy | undefined,
  admit: Admission,
): Promise<Written> {
  const { projectId, source, note, proposal } = draft;
  const current = await readCurrent(tx, projectId);
  // A client that lost the answer and retries receives the same result.
  if (isText(current, source)) return { outcome: "in_force", version: current };
  await admit(tx);
  await assertExpected(tx, by, current, draft);
  // The policy was active before, so it was not examined.
  if (policy === undefined) throw new Problem("policy_conflict");
  const version: StoredPolicyVersion = {
    projectId,
    number: draft.expectedNumber + 1,
    sha256: sha256Hex(source),
    source,
    note,
    publishedAt: await tx.now(),
    publishedBy: by.actor,
    proposedBy: proposal?.proposedBy ?? null,
    isTwoPerson: policy.isTwoPerson,
    isIntact: true,
  };
  if (!(await insertPolicyVersion(tx, version))) {
    // Another transaction committed in between. Its row is visible now.
    const winner = await readCurrent(tx, projectId);
    if (isText(winner, source)) return { outcome: "in_force", version: winner };
    throw await conflict(tx, by, winner, draft);
  }
  if (proposal !== undefined) await closePublished(tx, proposal, version);
  await record(tx, random, by, draft, version);
  return { outcome: "published", version };
}

/** False for a version that was altered in the database: publishing its text creates a new one. */
function isText(
  version: StoredPolicyVersion | undefined,
  source: string,
): version is StoredPolicyVersion {
  return version?.isIntact === true && version.source === source;
}

async function closePublished(
  tx: Transaction,
  proposal: StoredProposal,
  { publishedAt: closedAt, publishedBy: closedBy }: StoredPolicyVersion,
): Promise<void> {
  const end = { outcome: "published", closedAt, closedBy, reason: null } as const;
  if (await closeProposal(tx, proposal, end)) return;
  throw new Problem(
    "policy_conflict",
    "This proposal is already closed. Propose the change again.",
  );
}

async function record(
  tx: Transaction,
  random: Context["random"],
  by: PolicyActor,
  { projectId, restores, proposal }: PolicyDraft,
  { number, sha256, note, publishedAt, publishedBy, isTwoPerson }: StoredPolicyVersion,
): Promise<void> {
  await appendAudit(tx, random, {
    at: publishedAt,
    projectId,
    kind: "policy.published",
    actor: publishedBy,
    subject: `policy:${number}`,
    detail: {
      number,
      sha256,
      note,
      restores,
      two_person: isTwoPerson ? "required" : undefined,
      proposal: proposal?.id,
      proposed_by: proposal?.proposedBy,
      // The id of a reviewer is only unique with its project.
      project_id: projectId === SERVER ? by.projectId : undefined,
    },
  });
}

export async function readCurrent(
  reader: Reader,
  projectId: string,
): Promise<StoredPolicyVersion | undefined> {
  const number = await readPolicyNumber(reader, projectId);
  return number === 0 ? undefined : readPolicyVersion(reader, projectId, number);
}

/** @throws Problem `policy_conflict` when another version than the expected one is active */
export async function assertExpected(
  reader: Reader,
  by: PolicyActor,
  current: StoredPolicyVersion | undefined,
  draft: Pick<PolicyDraft, "expectedNumber" | "proposal">,
): Promise<void> {
  if ((current?.number ?? 0) !== draft.expectedNumber) {
    throw await conflict(reader, by, current, draft);
  }
}

async function conflict(
  reader: Reader,
  by: PolicyActor,
  current: StoredPolicyVersion | undefined,
  { expectedNumber, proposal }: Pick<PolicyDraft, "expectedNumber" | "proposal">,
): Promise<Problem> {
  const expected = expectedNumber === 0 ? "no active version" : `version ${expectedNumber}`;
  const detail = proposal === undefined ? { param: "expected_number" } : {};
  if (current === undefined) {
    const message = `No policy is active, but the request expected ${expected}.`;
    return new Problem("policy_conflict", message, detail);
  }
  const { number, publishedAt, publishedBy } = current;
  const publisher = (await readPublishers(reader, by, [current])).get(publishedBy);
  const who = publisher === undefined ? publishedBy : `${publisher} (${publishedBy})`;
  const what = `Version ${number}, published by ${who} at ${formatTimestamp(publishedAt)}`;
  const advice = proposal === undefined ? "" : " Propose it again from the active version.";
  const message = `${what}, is active, but the request expected ${expected}.${advice}`;
  return new Problem("policy_conflict", message, detail);
}
