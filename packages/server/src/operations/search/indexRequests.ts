import { setImmediate as nextTurn } from "node:timers/promises";
import { requestIdOf } from "../../core/request-entry.ts";
import { indexWords } from "../../core/search-words.ts";
import { searchedTexts } from "../../core/searched-request.ts";
import { readSearchedPeople } from "../../steps/search/readSearchedPeople.ts";
import type { SearchedDocument } from "../../storage/search-index.ts";
import { readEntriesBetween } from "../../storage/sql/audit/audit-entries.ts";
import {
  readSealEntryCounts,
  readSeals,
  type StoredSeal,
} from "../../storage/sql/audit/audit-seals.ts";
import { readRequests } from "../../storage/sql/requests/requests.ts";
import {
  type IndexProgress,
  lockProgress,
  readUnindexedLogs,
  saveProgress,
} from "../../storage/sql/search/search-progress.ts";
import type { Store } from "../../storage/store.ts";

/** Entries after which the words of a request can differ. */
const KINDS: ReadonlySet<string> = new Set([
  "request.opened",
  "request.resolved",
  "vote.cast",
  "vote.withdrawn",
]);

/** Limits the memory of a batch, and one transaction. */
const REQUESTS_PER_BATCH = 20;

/**
 * One run indexes several seals that together have at most so many entries. Such a run is one
 * batch, so that two replicas that chose different seals cannot alternate: the slower one finds
 * that the progress has changed, and writes nothing.
 */
export const ENTRIES_PER_RUN = REQUESTS_PER_BATCH;

/**
 * Adds the requests of newly sealed audit entries to the full-text index: of each project, those of
 * its next seals. Any replica can call it. An interruption repeats these seals.
 *
 * @returns whether there may be more
 */
export async function indexRequests(store: Store): Promise<{ readonly more: boolean }> {
  let more = false;
  const failures: unknown[] = [];
  for (const progress of await readUnindexedLogs(store)) {
    try {
      more = (await indexNextSeals(store, progress)) || more;
    } catch (error) {
      // The index of one project must not stop those of the others.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return { more };
}

/** @returns whether there is another seal */
async function indexNextSeals(store: Store, progress: IndexProgress): Promise<boolean> {
  const { projectId, position } = progress;
  // Each seal has one entry or more.
  const counts = await readSealEntryCounts(store, projectId, position, ENTRIES_PER_RUN + 1);
  const count = countSealsForRun(counts);
  if (count === 0) return false;
  await indexSeals(store, progress, await readSeals(store, projectId, position, count));
  return count < counts.length;
}

/** How many of the next seals one run indexes: one, and more while they are small. */
function countSealsForRun(entryCounts: readonly number[]): number {
  let entries = 0;
  const beyond = entryCounts.findIndex((count, i) => {
    entries += count;
    return i > 0 && entries > ENTRIES_PER_RUN;
  });
  return beyond === -1 ? entryCounts.length : beyond;
}

async function indexSeals(
  store: Store,
  from: IndexProgress,
  seals: readonly StoredSeal[],
): Promise<void> {
  const { projectId } = from;
  const last = seals.at(-1);
  if (last === undefined) return;
  const ids = new Set<string>();
  for (const seal of seals) for (const id of await requestsOf(store, seal)) ids.add(id);
  const sorted = [...ids].sort();
  let next = 0;
  do {
    const batch = sorted.slice(next, next + REQUESTS_PER_BATCH);
    const documents = await readDocuments(store, projectId, batch);
    next += REQUESTS_PER_BATCH;
    const done = next >= sorted.length;
    const isFirst = await store.transact(async (tx) => {
      // Otherwise another replica has indexed the seals, perhaps with newer words.
      if ((await lockProgress(tx, projectId)) !== from.position) return false;
      await tx.search.put(tx, documents);
      if (done) await saveProgress(tx, { projectId, position: last.position + last.entries });
      return true;
    }, "process");
    if (!isFirst) return;
  } while (next < sorted.length);
}

/** Ids of the requests that the entries of a seal are about, some of them repeatedly. */
async function requestsOf(
  store: Store,
  { projectId, ids, firstId, lastId }: StoredSeal,
): Promise<string[]> {
  const sealed = new Set(ids);
  const entries = await readEntriesBetween(store, projectId, firstId, lastId);
  return entries
    .filter(({ id, kind }) => sealed.has(id) && KINDS.has(kind))
    .flatMap((entry) => requestIdOf(entry) ?? []);
}

/** Purged and damaged requests have none. */
async function readDocuments(
  store: Store,
  projectId: string,
  ids: readonly string[],
): Promise<SearchedDocument[]> {
  const { requests } = await readRequests(store, projectId, ids);
  const people = await readSearchedPeople(store, projectId, requests);
  const documents: SearchedDocument[] = [];
  for (const [i, request] of requests.entries()) {
    const texts = searchedTexts(request, people[i] ?? { names: [], notes: [] });
    documents.push({ projectId, id: request.id, words: indexWords(texts.map(({ text }) => text)) });
    await nextTurn();
  }
  return documents;
}
