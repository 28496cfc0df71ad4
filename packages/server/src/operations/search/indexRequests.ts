import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../../context.ts";
import { indexWords } from "../../core/search-words.ts";
import { searchedTexts } from "../../core/searched-request.ts";
import { readSearchedPeople } from "../../steps/search/readSearchedPeople.ts";
import type { SearchedDocument } from "../../storage/search-index.ts";
import { readEntriesBetween } from "../../storage/sql/audit/audit-entries.ts";
import {
  readSealSizes,
  readSeals,
  type SealSize,
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

const SUBJECT = "request:";

/** Limits the memory of a batch, and one transaction. */
const REQUESTS_PER_BATCH = 20;

/** One run indexes several seals that together have at most so many entries. */
const ENTRIES_PER_RUN = 2 * REQUESTS_PER_BATCH;

/**
 * Younger seals are indexed one by one: replicas that index at the same time then choose the same
 * seals. Otherwise a slow replica could write older words over those of a later seal.
 */
const SETTLED_MS = 60_000;

interface IndexContext {
  readonly store: Store;
  readonly clock: Pick<Context["clock"], "now">;
}

/**
 * Adds the requests of newly sealed audit entries to the full-text index: of each project, those of
 * its next seals. Any replica can call it. An interruption repeats these seals.
 *
 * @returns whether there may be more
 */
export async function indexRequests({
  store,
  clock,
}: IndexContext): Promise<{ readonly more: boolean }> {
  let more = false;
  const failures: unknown[] = [];
  for (const progress of await readUnindexedLogs(store)) {
    try {
      more = (await indexNextSeals(store, progress, clock.now())) || more;
    } catch (error) {
      // The index of one project must not stop those of the others.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return { more };
}

/** @returns whether there is another seal */
async function indexNextSeals(
  store: Store,
  progress: IndexProgress,
  now: number,
): Promise<boolean> {
  const { projectId, position } = progress;
  // Each seal has one entry or more.
  const sizes = await readSealSizes(store, projectId, position, ENTRIES_PER_RUN + 1);
  const count = countForRun(sizes, now);
  if (count === 0) return false;
  await indexSeals(store, progress, await readSeals(store, projectId, position, count));
  return count < sizes.length;
}

/** How many of the next seals one run indexes: one, and more while they are small and old. */
function countForRun(sizes: readonly SealSize[], now: number): number {
  let entries = 0;
  const beyond = sizes.findIndex((seal, i) => {
    entries += seal.entries;
    return i > 0 && (entries > ENTRIES_PER_RUN || seal.sealedAt > now - SETTLED_MS);
  });
  return beyond === -1 ? sizes.length : beyond;
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
  for (let at = 0; at < sorted.length; at += REQUESTS_PER_BATCH) {
    const batch = sorted.slice(at, at + REQUESTS_PER_BATCH);
    const documents = await readDocuments(store, projectId, batch);
    await store.transact(async (tx) => {
      // Another replica has indexed the seals, perhaps with newer words.
      if ((await lockProgress(tx, projectId)) !== from.position) return;
      await tx.search.put(tx, documents);
    }, "process");
  }
  await store.transact(async (tx) => {
    if ((await lockProgress(tx, projectId)) !== from.position) return;
    await saveProgress(tx, { projectId, position: last.position + last.entries });
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
