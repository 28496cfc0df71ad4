/** Verifies the logs of a database, one by one. */

import { findMissingProof } from "../audit/approval-proofs.ts";
import { toAddedPasskeys } from "../audit/entry-checks.ts";
import { type Finding, FindingError, found } from "../audit/finding.ts";
import {
  type PlacedEntry,
  readSince,
  UNSEALED_MS_MAX,
  type Verified,
  type VerifyOptions,
  verifyLog,
} from "../audit/verify-log.ts";
import type { Checkpoint, Verifier } from "../core/signed-note.ts";
import { readProjects } from "../storage/sql/access/holders.ts";
import { readAddedPasskeys, readEntriesAfter } from "../storage/sql/audit/audit-entries.ts";
import { readLog, readLogs, type StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { SERVER } from "../storage/sql/keys.ts";
import type { Reader } from "../storage/store.ts";
import type { ArchivedApprovals } from "./archived-approvals.ts";
import type { AuditDatabase } from "./audit-database.ts";
import { type ArchivedPart, verifyArchivedPart } from "./verify-archived-part.ts";
import { findAlteredPolicy } from "./verify-policies.ts";
import { RequestComparison } from "./verify-requests.ts";

export interface DatabaseOptions {
  /** The log to verify; undefined: all logs. */
  readonly log?: { readonly project: string | undefined } | undefined;
  /** Verifies the log that it names. Other logs use the key in the database. */
  readonly verifier?: Verifier | undefined;
  /** An external checkpoint. The caller verifies its signature. */
  readonly older?: Checkpoint | undefined;
  /**
   * True to verify only the entries after `older`, with their requests, and only this log. An
   * earlier run must have verified the entries that `older` covers.
   */
  readonly isIncremental?: boolean;
  /** Folder of an archive to verify with the logs. */
  readonly archive?: string | undefined;
  readonly onProgress?: (project: string | undefined, entries: number, size: number) => void;
}

export interface LogVerification extends Omit<Verified, "notCompared"> {
  /** Approvals and requests that were not compared, because only an archive has their entries. */
  readonly notCompared: number;
  /** Its name; undefined for the log of the whole server. */
  readonly project: string | undefined;
  /** Entries of the archive that were verified. */
  readonly archived: number;
}

export interface DatabaseVerification {
  readonly logs: readonly LogVerification[];
  /** The first finding of any log. */
  readonly finding: (Finding & { readonly project?: string | undefined }) | undefined;
}

/** @throws Failure when the database cannot be read, or the log does not exist */
export async function verifyDatabase(
  { reader, clock, log: findLog }: AuditDatabase,
  { log: wanted, verifier, older, isIncremental = false, archive, onProgress }: DatabaseOptions,
): Promise<DatabaseVerification> {
  const all = wanted === undefined ? await readLogs(reader) : [await findLog(wanted.project)];
  const names = new Map((await readProjects(reader)).map(({ id, name }) => [id, name]));
  const only = verifier?.name ?? (isIncremental ? older?.origin : undefined);
  const chosen = only === undefined ? all : all.filter(({ origin }) => origin === only);
  for (const origin of [verifier?.name, older?.origin]) {
    if (origin === undefined || chosen.some((log) => log.origin === origin)) continue;
    const message = `the log ${origin} does not exist; check that this is the right database`;
    return { logs: [], finding: { fault: "rewritten", origin, message } };
  }
  const passkeys = toAddedPasskeys(await readAddedPasskeys(reader, SERVER));
  const logs: LogVerification[] = [];
  for (const log of chosen) {
    const { origin, publicKey, projectId, size } = log;
    const project = names.get(projectId);
    const verified = await verifyOne(reader, log, {
      verifier: verifier ?? { name: origin, publicKey },
      older: older?.origin === origin ? older : undefined,
      isIncremental,
      passkeys,
      clock,
      hasArchive: archive !== undefined,
      archive,
      onProgress: (entries) => onProgress?.(project, entries, size),
    });
    logs.push({ ...verified, project });
    const finding = verified.finding ?? (await findAlteredPolicy(reader, projectId, clock.now()));
    if (finding !== undefined) return { logs, finding: { ...finding, project } };
  }
  if (wanted !== undefined || only !== undefined) return { logs, finding: undefined };
  return { logs, finding: await findWithoutLog(reader, names, clock.now()) };
}

interface LogOptions extends VerifyOptions {
  readonly archive: string | undefined;
  readonly onProgress: (entries: number) => void;
}

/** Verifies a log, its archive, and the requests of its project. */
async function verifyOne(
  reader: Reader,
  log: StoredLog,
  options: LogOptions,
): Promise<Omit<LogVerification, "project">> {
  const { origin, projectId } = log;
  const { clock } = options;
  const since = await readSince(reader, log, options);
  const newComparison = () => new RequestComparison(reader, projectId, { clock, since });
  let comparison = newComparison();
  const { notCompared, ...verified } = await verifyLog(reader, log, {
    ...options,
    onRestart() {
      comparison = newComparison();
    },
    onEntries: (entries) => comparison.takeSealed(entries),
  });
  const counted = { ...verified, archived: 0, notCompared: notCompared.length };
  if (verified.finding !== undefined) return counted;
  try {
    // A server or a prune may have changed it since.
    const current = (await readLog(reader, projectId)) ?? log;
    const { archived, requests, approvals } = await verifyPast(reader, current, options);
    if (approvals !== undefined) await compareAll(reader, log, notCompared, approvals, options);
    const find =
      requests && ((...args: Parameters<typeof requests.find>) => requests.find(...args));
    const compared = await comparison.end({ size: verified.size, find });
    return {
      ...verified,
      archived,
      notCompared: compared.notCompared + (approvals === undefined ? notCompared.length : 0),
      finding: compared.finding,
    };
  } catch (error) {
    if (!(error instanceof FindingError)) throw error;
    return { ...counted, finding: { origin, projectId, ...error.finding } };
  }
}

async function verifyPast(
  reader: Reader,
  log: StoredLog,
  { archive: directory, verifier, passkeys, older, onProgress }: LogOptions,
): Promise<Pick<ArchivedPart, "archived"> & Partial<ArchivedPart>> {
  if (directory === undefined) return { archived: 0 };
  return verifyArchivedPart(reader, log, { directory, verifier, passkeys, older, onProgress });
}

/** Compares approvals after the cut with requirements from before it. @throws FindingError */
async function compareAll(
  reader: Reader,
  { projectId }: StoredLog,
  entries: readonly PlacedEntry[],
  approvals: ArchivedApprovals,
  { passkeys }: LogOptions,
): Promise<void> {
  for (const { position, entry } of entries) {
    const options = { passkeys, past: approvals.find(entry) };
    const message = await findMissingProof(reader, projectId, entry, options);
    const { id, kind, at } = entry;
    if (message !== undefined) throw found("entry", { position, id, kind, at }, message);
  }
}

/** An attacker may have deleted a log with all its rows. */
async function findWithoutLog(
  reader: Reader,
  names: ReadonlyMap<string, string>,
  now: number,
): Promise<DatabaseVerification["finding"]> {
  for (const projectId of [SERVER, ...names.keys()]) {
    if ((await readLog(reader, projectId)) !== undefined) continue;
    const [entry] = await readEntriesAfter(reader, projectId, "", 1);
    if (entry === undefined || now - entry.at <= UNSEALED_MS_MAX) continue;
    const { id, kind, at } = entry;
    const ref = { projectId, project: names.get(projectId), id, kind, at };
    return { fault: "unsealed", ...ref, message: "its project has no sealed log" };
  }
  return undefined;
}
