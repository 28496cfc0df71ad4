/** Verifies the logs of a database, one by one. */

import { toAddedPasskeys } from "../audit/entry-checks.ts";
import type { Finding } from "../audit/finding.ts";
import { UNSEALED_MS_MAX, type Verified, verifyLog } from "../audit/verify-log.ts";
import type { Checkpoint, Verifier } from "../core/signed-note.ts";
import { readProjects } from "../storage/sql/access/holders.ts";
import { readAddedPasskeys, readEntriesAfter } from "../storage/sql/audit/audit-entries.ts";
import { readLog, readLogs } from "../storage/sql/audit/audit-logs.ts";
import { SERVER } from "../storage/sql/keys.ts";
import type { Reader } from "../storage/store.ts";
import type { AuditDatabase } from "./audit-database.ts";
import { findAlteredPolicy } from "./verify-policies.ts";
import { findAlteredRequest } from "./verify-requests.ts";

export interface DatabaseOptions {
  /** The log to verify; undefined: all logs. */
  readonly log?: { readonly project: string | undefined } | undefined;
  /** Verifies the log that it names. Other logs use the key in the database. */
  readonly verifier?: Verifier | undefined;
  /** An external checkpoint. The caller has verified its signature. */
  readonly older?: Checkpoint | undefined;
  readonly onProgress?: (project: string | undefined, entries: number, size: number) => void;
}

export interface LogVerification extends Verified {
  /** Its name; undefined for the log of the whole server. */
  readonly project: string | undefined;
}

export interface DatabaseVerification {
  readonly logs: readonly LogVerification[];
  /** The first finding of any log. */
  readonly finding: (Finding & { readonly project?: string | undefined }) | undefined;
}

/** @throws Failure when the database cannot be read, or the log does not exist */
export async function verifyDatabase(
  { reader, now, log: findLog }: AuditDatabase,
  { log: wanted, verifier, older, onProgress }: DatabaseOptions,
): Promise<DatabaseVerification> {
  const all = wanted === undefined ? await readLogs(reader) : [await findLog(wanted.project)];
  const names = new Map((await readProjects(reader)).map(({ id, name }) => [id, name]));
  const chosen =
    verifier === undefined ? all : all.filter(({ origin }) => origin === verifier.name);
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
    const verified = await verifyLog(reader, log, {
      verifier: verifier ?? { name: origin, publicKey },
      older: older?.origin === origin ? older : undefined,
      passkeys,
      now,
      onProgress: (entries) => onProgress?.(project, entries, size),
    });
    logs.push({ ...verified, project });
    const finding =
      verified.finding ??
      (await findAlteredPolicy(reader, projectId, now)) ??
      (await findAlteredRequest(reader, projectId, now));
    if (finding !== undefined) return { logs, finding: { ...finding, project } };
  }
  if (wanted !== undefined || verifier !== undefined) return { logs, finding: undefined };
  return { logs, finding: await findWithoutLog(reader, names, now) };
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
