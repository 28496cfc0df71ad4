import { firstIdAt } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredEntry } from "../../core/audit-line.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type AuditScope, auditedProject } from "../../steps/audit/auditedLog.ts";
import { LAST_ID, readEntriesBefore } from "../../storage/sql/audit/audit-entries.ts";
import { readLog } from "../../storage/sql/audit/audit-logs.ts";

export interface AuditListing {
  readonly scope: AuditScope;
  readonly kind?: string | undefined;
  /** `kind:id`, as in an entry. */
  readonly subject?: string | undefined;
  /** `kind:id`, as in an entry. */
  readonly actor?: string | undefined;
  /** Epoch ms, inclusive. */
  readonly since?: number | undefined;
  /** Epoch ms, exclusive. */
  readonly until?: number | undefined;
  readonly limit: number;
  /** Id of the last entry that the previous page read. */
  readonly after?: string | undefined;
}

export interface AuditPage {
  readonly entries: readonly StoredEntry[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
  /** Entries of the log before this position are only in an archive. */
  readonly pruned: number;
}

const ENTRIES_PER_READ = 500;

/** Limits the cost of one page, because subjects have no index. */
const ENTRIES_PER_PAGE_MAX = 10_000;

/**
 * Entries of the log, latest first, including unsealed ones. With a filter, a page may be short or
 * empty before the last one.
 *
 * @throws Problem `forbidden`
 */
export async function listAuditEntries(
  { store }: Context,
  caller: ReviewerCaller,
  { scope, kind, subject, actor, since, until, limit, after }: AuditListing,
): Promise<AuditPage> {
  const projectId = auditedProject(caller, scope);
  const pruned = (await readLog(store, projectId))?.pruned ?? 0;
  const isWanted = (entry: StoredEntry) =>
    entry.kind === (kind ?? entry.kind) &&
    entry.subject === (subject ?? entry.subject) &&
    entry.actor === (actor ?? entry.actor);
  const isFiltered = (kind ?? subject ?? actor) !== undefined;
  const perRead = isFiltered ? ENTRIES_PER_READ : limit + 1;
  const found: StoredEntry[] = [];
  // The time in an id is the time of its entry.
  const oldest = since === undefined ? "" : firstIdAt(since);
  const newest = until === undefined ? LAST_ID : firstIdAt(until);
  let before = after !== undefined && after < newest ? after : newest;
  for (let seen = 0; seen < ENTRIES_PER_PAGE_MAX; seen += perRead) {
    const read = await readEntriesBefore(store, projectId, before, perRead);
    const page = read.filter(({ id }) => id >= oldest);
    found.push(...page.filter(isWanted));
    const last = page.at(-1);
    if (found.length > limit) {
      const shown = found.slice(0, limit);
      return { entries: shown, next: shown.at(-1)?.id, pruned };
    }
    if (last === undefined || page.length < perRead)
      return { entries: found, next: undefined, pruned };
    before = last.id;
  }
  return { entries: found, next: before, pruned };
}
