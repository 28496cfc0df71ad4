/**
 * Rows of the table `audit_entry`, as those read them who seal, show and verify. They are written
 * by audit/append-audit.ts.
 */

import { firstIdAt } from "@countersign/protocol";
import type { StoredEntry } from "../../../core/audit-line.ts";
import type { Integrity } from "../../integrity.ts";
import type { Reader, Row, SqlValue } from "../../store.ts";

/** The time as text: an altered row may hold more than a number can. */
const COLUMNS = "project_id, id, cast(at as text) as at, kind, actor, subject, detail, mac";

/** How long after rows have had MACs entries from before may still be sealed. */
const OLD_SEALED_MS = 24 * 3_600_000;

/** The value that the column `mac` of an entry must have. */
export function macOfEntry(integrity: Integrity, entry: StoredEntry): string {
  return integrity.macOf("audit_entry", valuesOf(entry));
}

/** Whether a server wrote the row, as far as a row from before rows had MACs can show that. */
export function isAuthenticEntry({ integrity }: Reader, entry: StoredEntry): boolean {
  const { id, mac = null } = entry;
  if (mac === null) return integrity.mayLackMac(id);
  return integrity.isAuthentic("audit_entry", valuesOf(entry), mac);
}

/**
 * Those that may be sealed; the others are reported. An entry from before rows had MACs is sealed
 * within a day of that time or never: afterwards, a writer of the database made it up.
 */
export function sealableEntries(
  reader: Reader,
  entries: readonly StoredEntry[],
  now: number,
): StoredEntry[] {
  const { integrity } = reader;
  return entries.filter((entry) => {
    const isLate = entry.mac === null && now > integrity.since + OLD_SEALED_MS;
    if (!isLate && isAuthenticEntry(reader, entry)) return true;
    integrity.report({ table: "audit_entry", projectId: entry.projectId, id: entry.id });
    return false;
  });
}

function valuesOf({
  projectId,
  id,
  at,
  kind,
  actor,
  subject,
  detail,
}: StoredEntry): readonly SqlValue[] {
  return [projectId, id, at, kind, actor, subject, detail];
}

/** Sorts behind every identifier, in any collation. */
export const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Ids of a project's entries from behind one up to another, in their order. */
export interface IdRange {
  /** Not itself. */
  readonly after: string;
  /** Itself, too; to the end when not given. */
  readonly upTo?: string;
}

export async function readEntryIds(
  reader: Reader,
  projectId: string,
  { after, upTo }: IdRange,
  limit: number,
): Promise<string[]> {
  // Not one statement with an id that sorts last: an entry may follow it.
  const rows =
    upTo === undefined
      ? await reader.all(
          "select id from audit_entry where project_id = $1 and id > $2 order by id limit $3",
          [projectId, after, limit],
        )
      : await reader.all(
          `select id from audit_entry where project_id = $1 and id > $2 and id <= $3
           order by id limit $4`,
          [projectId, after, upTo, limit],
        );
  return rows.map(({ id }) => String(id));
}

/** All from one id to another, both included: for ranges that are known to be short. */
export async function readEntriesBetween(
  reader: Reader,
  projectId: string,
  first: string,
  last: string,
): Promise<StoredEntry[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from audit_entry where project_id = $1 and id >= $2 and id <= $3`,
    [projectId, first, last],
  );
  return rows.map(toEntry);
}

/** Those whose id has this time: an entry takes its id from the time of its transition. */
export function readEntriesAt(
  reader: Reader,
  projectId: string,
  ms: number,
): Promise<StoredEntry[]> {
  return readEntriesBetween(reader, projectId, firstIdAt(ms), firstIdAt(ms + 1));
}

/** Of a project: the entries in the index, with the words of its condition. */
const KEPT = `audit_entry /* indexed by audit_entry_kept */
  where project_id = $1 and kind in ('passkey.added', 'policy.published')`;

/** Details of the entries that say which passkeys were added, ever. */
export async function readAddedPasskeys(reader: Reader, serverLog: string): Promise<string[]> {
  const rows = await reader.all(`select detail from ${KEPT} and kind = 'passkey.added'`, [
    serverLog,
  ]);
  return rows.map(({ detail }) => detail as string);
}

/** Details of the entries that say which versions of its policy a project published, ever. */
export async function readPublishedVersions(reader: Reader, projectId: string): Promise<string[]> {
  const rows = await reader.all(`select detail from ${KEPT} and kind = 'policy.published'`, [
    projectId,
  ]);
  return rows.map(({ detail }) => detail as string);
}

/** Entries that stay when a log is pruned: see core/audit-cut.ts. */
export async function readKeptEntries(reader: Reader, projectId: string): Promise<StoredEntry[]> {
  const rows = await reader.all(`select ${COLUMNS} from ${KEPT}`, [projectId]);
  return rows.map(toEntry);
}

/** At most `limit` from behind an id on, in their order. */
export async function readEntriesAfter(
  reader: Reader,
  projectId: string,
  after: string,
  limit: number,
): Promise<StoredEntry[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from audit_entry where project_id = $1 and id > $2 order by id limit $3`,
    [projectId, after, limit],
  );
  return rows.map(toEntry);
}

/** At most `limit` before an id, the latest first. */
export async function readEntriesBefore(
  reader: Reader,
  projectId: string,
  before: string,
  limit: number,
): Promise<StoredEntry[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from audit_entry where project_id = $1 and id < $2
     order by id desc limit $3`,
    [projectId, before, limit],
  );
  return rows.map(toEntry);
}

/**
 * Entries of a request except those of its opening and its resolution, the earliest first.
 * The kinds are those of the index `audit_entry_of_request`.
 */
export async function readEntriesOfRequest(
  reader: Reader,
  projectId: string,
  requestId: string,
  limit: number,
  after = "",
): Promise<StoredEntry[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from audit_entry
     where project_id = $1 and subject = $2 and id > $4
       and kind in ('vote.cast', 'vote.withdrawn', 'verdict.held', 'verdict.taken_back',
         'verdict.cast', 'verdict.lapsed', 'confirmation.missed', 'delivery.hurried')
     order by id limit $3`,
    [projectId, `request:${requestId}`, limit, after],
  );
  return rows.map(toEntry);
}

export async function readEntry(
  reader: Reader,
  projectId: string,
  id: string,
): Promise<StoredEntry | undefined> {
  const sql = `select ${COLUMNS} from audit_entry where project_id = $1 and id = $2`;
  const row = await reader.get(sql, [projectId, id]);
  return row && toEntry(row);
}

/** Raw values: an altered row may hold anything. */
function toEntry(row: Row): StoredEntry {
  return {
    projectId: row.project_id as string,
    id: row.id as string,
    at: Number(row.at),
    kind: row.kind as string,
    actor: row.actor as string,
    subject: row.subject as string,
    detail: row.detail as string,
    mac: row.mac as string | null,
  };
}
