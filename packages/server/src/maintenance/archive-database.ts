/** Archives the logs of a database, one by one, and prunes them. Works beside a running server. */

import type { SecretSettings, Settings } from "../config/settings.ts";
import type { SinkKind } from "../core/audit-stream.ts";
import { readProjects } from "../storage/sql/access/holders.ts";
import { readLogs, type StoredLog } from "../storage/sql/audit/audit-logs.ts";
import { failure } from "./archive-files.ts";
import { type ArchivedLog, archiveLog } from "./archive-log.ts";
import type { AuditDatabase } from "./audit-database.ts";
import { pruneLog } from "./prune-log.ts";

/** Minimum age of pruned entries: the contract and the console need those of recent requests. */
export const PRUNED_AGE_MS_MIN = 30 * 24 * 3_600_000;

export interface DatabaseArchiveOptions {
  /** The log to archive; undefined: all logs. */
  readonly log?: { readonly project: string | undefined } | undefined;
  /** Has a folder for each log. */
  readonly directory: string;
  /** Epoch ms: archives entries that were sealed earlier; undefined: all sealed entries. */
  readonly before: number | undefined;
  /** Delete the archived entries from the database. */
  readonly prunes: boolean;
  /** Destinations of the audit stream in the settings. */
  readonly sinks: readonly SinkKind[];
  /** Destinations that no longer receive the stream. */
  readonly without: readonly SinkKind[];
  readonly onProgress?: (project: string | undefined, what: string) => void;
}

export interface LogArchive extends ArchivedLog {
  /** Its name; undefined for the log of the whole server. */
  readonly project: string | undefined;
  readonly origin: string;
  readonly size: number;
  /** The cut before and after this run. */
  readonly pruned: { readonly from: number; readonly to: number };
}

/** @throws Failure at the first log that cannot be archived or pruned; earlier ones are complete */
export async function* archiveDatabase(
  database: AuditDatabase,
  options: DatabaseArchiveOptions,
): AsyncGenerator<LogArchive> {
  const { reader, clock } = database;
  const before = options.before ?? clock.now() + 1;
  assertPrunable(database, options, before);
  const names = new Map((await readProjects(reader)).map(({ id, name }) => [id, name]));
  const all =
    options.log === undefined ? await readLogs(reader) : [await database.log(options.log.project)];
  for (const log of all) {
    const project = names.get(log.projectId);
    options.onProgress?.(project, "archive");
    const archived = await archiveLog(reader, log, { directory: options.directory, before });
    const to = options.prunes ? await prune(database, log, archived, options, before) : 0;
    const { origin, size, pruned: from } = log;
    const pruned = { from, to: Math.max(from, to) };
    yield { ...archived, project, origin, size, pruned };
  }
}

function assertPrunable(
  { writer, clock }: AuditDatabase,
  { prunes }: DatabaseArchiveOptions,
  before: number,
): void {
  if (!prunes) return;
  if (writer === undefined) {
    throw failure("--prune writes an audit entry and needs the secret key of the database");
  }
  if (before > clock.now() - PRUNED_AGE_MS_MIN) {
    throw failure("--prune keeps the entries of the last 30 days: give an earlier --before");
  }
}

async function prune(
  { writer }: AuditDatabase,
  log: StoredLog,
  archived: ArchivedLog,
  { sinks, without, onProgress }: DatabaseArchiveOptions,
  before: number,
): Promise<number> {
  if (writer === undefined) return log.pruned;
  const project = log.projectId;
  return pruneLog(writer, log, {
    archived,
    before,
    sinks,
    without,
    onProgress: (position) => onProgress?.(project, `prune up to ${position}`),
  });
}

/** The destinations of the audit stream that the settings name. */
export function sinksOf(settings: Settings, secrets: SecretSettings): SinkKind[] {
  const { url } = secrets.auditStream;
  const { file } = settings.auditStream;
  return [
    ...(url === undefined ? [] : ["http" as const]),
    ...(file === undefined ? [] : ["file" as const]),
  ];
}
