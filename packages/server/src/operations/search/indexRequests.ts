import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../../context.ts";
import { indexWords } from "../../core/search-words.ts";
import { searchedTexts } from "../../core/searched-request.ts";
import { readSearchedPeople } from "../../steps/search/readSearchedPeople.ts";
import type { SearchedDocument } from "../../storage/search-index.ts";
import { readEntriesBetween } from "../../storage/sql/audit/audit-entries.ts";
import { readSeals, type StoredSeal } from "../../storage/sql/audit/audit-seals.ts";
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

const SUBJECT = "request:";

/** Limits the memory of a batch, and one transaction. */
const REQUESTS_PER_BATCH = 20;

/** One run indexes several seals that together have at most so many entries. */
const ENTRIES_PER_RUN = 2 * REQUESTS_PER_BATCH;

/**
 * Adds the requests of newly sealed audit entries to the full-text index: of each project, those of
 * its next seals. Any replica can call it. An interruption repeats these seals.
 *
 * @returns whether there may be more
 */
export async function indexRequests({
  store,
}: Pick<Context, "store">): Promise<{ readonly more: boolean }> {
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
  const found = await readSeals(store, projectId, position, ENTRIES_PER_RUN + 1);
  const seals = found.slice(0, countForRun(found));
  if (seals.length === 0) return false;
  await indexSeals(store, progress, seals);
  return seals.length < found.length;
}

/** At least one, if there is one. */
function countForRun(seals: readonly StoredSeal[]): number {
  let entries = 0;
  const beyond = seals.findIndex((seal, i) => {
    entries += seal.entries;
    return i > 0 && entries > ENTRIES_PER_RUN;
  });
  return beyond === -1 ? seals.length : beyond;
}

async function indexSeals(
  store: Store,
  from: IndexProgress,
  seals: readonly StoredSeal[],
): Promise<void> {
  const { projectId } = from;
  const ids = new Set<string>();
  for (const seal of seals) for (const id of await requestsOf(store, seal)) ids.add(id);
  const sorted = [...ids].sort();
  for (let at = 0; at < sorted.length; at += REQUESTS_PER_BATCH) {
    const batch = sorted.slice(at, at + REQUESTS_PER_BATCH);
    const documents = await readDocuments(store, projectId, batch);
    await store.transact(async (tx) => {
      // Another replica has indexed the seals, perhaps with newer words.
      if ((await lockProgress(tx, projectId)) !== from.position) return;
      for (const document of documents) await tx.search.put(tx, document);
    }, "process");
  }
  const entries = seals.reduce((sum, seal) => sum + seal.entries, 0);
  await store.transact(async (tx) => {
    if ((await lockProgress(tx, projectId)) !== from.position) return;
    await saveProgress(tx, { projectId, position: (seals[0]?.position ?? 0) + entries });
  }, "process");
}

/** Ids of the requests that the entries of a seal are about, some of them repeatedly. */
async function requestsOf(
  store: Store,
  { projectId, ids, firstId, lastId }: StoredSeal,
): Promise<string[]> {
  const sealed = new Set(ids);
  const entries = await readEntriesBetween(store, projectId, firstId, lastId);
  return entries
    .filter(({ id, kind, subject }) => {
      return sealed.has(id) && KINDS.has(kind) && subject.startsWith(SUBJECT);
    })
    .map(({ subject }) => subject.slice(SUBJECT.length));
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
