import { formatTimestamp, Problem } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import type { Examination } from "../examiner/examiner.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import type { Finding, Policy } from "../policy/rule.ts";
import { sha256Hex } from "../secrets/keyring.ts";
import {
  insertPolicyVersion,
  readPolicyNumber,
  readPolicyVersion,
  SERVER,
  type StoredPolicyVersion,
} from "../storage/sql/policy-versions.ts";
import type { Reader, Transaction } from "../storage/store.ts";
import { assertMayPublish, type PolicyScope, projectOf } from "./assertMayPublish.ts";
import { readKnownGroups } from "./readKnownGroups.ts";
import { readPublishers } from "./readPublishers.ts";
import type { PublishedPolicy } from "./showPolicy.ts";

export interface Publication {
  readonly scope: PolicyScope;
  readonly source: string;
  /** The version in force when the editor began; 0 when there was none. */
  readonly expectedNumber: number;
  /** Why; kept with the version. */
  readonly note: string | null;
  /** The older version that this is the source of, for the audit log. */
  readonly restores?: number;
}

export interface PublishOutcome extends PublishedPolicy {
  /** `in_force`: this very source is in force, and nothing was written. */
  readonly outcome: "published" | "in_force";
  readonly warnings: readonly Finding[];
}

/**
 * Puts a policy in force for the calls that come from now on; what is pending stays as it was
 * judged. Two editors cannot overwrite each other unseen: whoever began from a version that is
 * no longer in force is refused.
 *
 * @throws Problem `forbidden`; `policy_invalid` with every finding when it does not load, names
 *   groups that nobody is in, or has tests that fail; `policy_conflict` when another version than
 *   the expected one is in force
 */
export async function publishPolicy(
  context: Context,
  caller: ReviewerCaller,
  publication: Publication,
): Promise<PublishOutcome> {
  const { store } = context;
  const { scope, source } = publication;
  assertMayPublish(caller, scope);
  const projectId = projectOf(caller, scope);
  const current = await readCurrent(store, projectId);
  const isInForce = current?.source === source;
  if (!isInForce) {
    // Before the tests run, which may take long.
    assertExpected(current, publication, await nameOf(store, caller, current));
  }
  const examined = isInForce ? undefined : await examine(context, projectId, publication);
  const work = (tx: Transaction) => publish(tx, context, caller, projectId, publication);
  const { outcome, version } = await store.transact(work);
  if (examined !== undefined) {
    const { policy } = examined;
    context.policies.keep(scope, policy.sha256, { kind: "policy", policy });
  }
  const names = await readPublishers(store, caller, [version]);
  const { warnings = [] } = examined ?? {};
  return { outcome, scope, version, publisher: names.get(version.publishedBy), warnings };
}

/** @throws Problem `policy_invalid` */
async function examine(
  { store, examiners, settings: { retentionMs: keptMs } }: Context,
  projectId: string,
  { scope, source }: Publication,
): Promise<Examination & { readonly policy: Policy }> {
  const groups = await readKnownGroups(store, projectId);
  const order = { kind: scope, source, groups, keptMs, runsTests: true, wantsPolicy: true };
  const examined = await examiners.drafts.examine(order);
  const { policy, findings } = examined;
  if (policy === undefined || findings.length > 0) throw invalidPolicy(findings);
  return { ...examined, policy };
}

/** Says the first finding in words, and holds all. */
export function invalidPolicy(findings: readonly Finding[]): Problem {
  const { line = 1, column = 1, path = "", message = "" } = findings[0] ?? {};
  const count = findings.length === 1 ? "a fault" : `${findings.length} faults, the first`;
  const place = `line ${line}, column ${column}${path === "" ? "" : ` (${path})`}`;
  const text = `The policy has ${count} at ${place}: ${message.replace(/\.$/, "")}.`;
  return new Problem("policy_invalid", text, { param: "source", findings });
}

async function publish(
  tx: Transaction,
  { random }: Context,
  caller: ReviewerCaller,
  projectId: string,
  publication: Publication,
): Promise<{
  readonly outcome: PublishOutcome["outcome"];
  readonly version: StoredPolicyVersion;
}> {
  const { source, note, restores } = publication;
  const current = await readCurrent(tx, projectId);
  // Whoever lost the answer and sends it again finds it done.
  if (current?.source === source) return { outcome: "in_force", version: current };
  assertExpected(current, publication, await nameOf(tx, caller, current));
  const version: StoredPolicyVersion = {
    projectId,
    number: publication.expectedNumber + 1,
    sha256: sha256Hex(source),
    source,
    note,
    publishedAt: await tx.now(),
    publishedBy: `reviewer:${caller.reviewerId}`,
  };
  if (!(await insertPolicyVersion(tx, version))) {
    // Somebody else's commit came in between; now it can be read.
    const winner = await readCurrent(tx, projectId);
    if (winner?.source === source) return { outcome: "in_force", version: winner };
    throw conflict(winner, publication, await nameOf(tx, caller, winner));
  }
  const { number, sha256, publishedAt, publishedBy } = version;
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
      ...(restores !== undefined && { restores }),
      // An identifier of a reviewer is one of a project.
      ...(projectId === SERVER && { project_id: caller.projectId }),
    },
  });
  return { outcome: "published", version };
}

async function readCurrent(
  reader: Reader,
  projectId: string,
): Promise<StoredPolicyVersion | undefined> {
  const number = await readPolicyNumber(reader, projectId);
  return number === 0 ? undefined : readPolicyVersion(reader, projectId, number);
}

async function nameOf(
  reader: Reader,
  caller: ReviewerCaller,
  version: StoredPolicyVersion | undefined,
): Promise<string | undefined> {
  if (version === undefined) return undefined;
  return (await readPublishers(reader, caller, [version])).get(version.publishedBy);
}

/** @throws Problem `policy_conflict` */
function assertExpected(
  current: StoredPolicyVersion | undefined,
  publication: Publication,
  publisher: string | undefined,
): void {
  if ((current?.number ?? 0) !== publication.expectedNumber) {
    throw conflict(current, publication, publisher);
  }
}

function conflict(
  current: StoredPolicyVersion | undefined,
  { expectedNumber }: Publication,
  publisher: string | undefined,
): Problem {
  const expected = expectedNumber === 0 ? "none" : `version ${expectedNumber}`;
  const param = "expected_number";
  if (current === undefined) {
    return new Problem("policy_conflict", `No policy is in force, not ${expected}.`, { param });
  }
  const { number, publishedAt, publishedBy } = current;
  const who = publisher === undefined ? publishedBy : `${publisher} (${publishedBy})`;
  const what = `Version ${number}, published by ${who} at ${formatTimestamp(publishedAt)}`;
  return new Problem("policy_conflict", `${what}, is in force, not ${expected}.`, { param });
}
