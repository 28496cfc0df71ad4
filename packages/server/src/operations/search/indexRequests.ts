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

/**
 * Adds the requests of newly sealed audit entries to the full-text index: of each project, those of
 * its next seal. Any replica can call it. An interruption repeats the seal.
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
      more = (await indexNextSeal(store, progress)) || more;
    } catch (error) {
      // The index of one project must not stop those of the others.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return { more };
}

/** @returns whether there is another seal */
async function indexNextSeal(store: Store, progress: IndexProgress): Promise<boolean> {
  const [seal, next] = await readSeals(store, progress.projectId, progress.position, 2);
  if (seal === undefined) return false;
  await indexSeal(store, progress, seal);
  return next !== undefined;
}

async function indexSeal(store: Store, from: IndexProgress, seal: StoredSeal): Promise<void> {
  const { projectId } = from;
  const ids = await requestsOf(store, seal);
  for (let at = 0; at < ids.length; at += REQUESTS_PER_BATCH) {
    const batch = ids.slice(at, at + REQUESTS_PER_BATCH);
    const documents = await readDocuments(store, projectId, batch);
    await store.transact(async (tx) => {
      // Another replica has indexed the seal, perhaps with newer words.
      if ((await lockProgress(tx, projectId)) !== from.position) return;
      for (const document of documents) await tx.search.put(tx, document);
    }, "process");
  }
  await store.transact(async (tx) => {
    if ((await lockProgress(tx, projectId)) !== from.position) return;
    await saveProgress(tx, { projectId, position: seal.position + seal.entries });
  }, "process");
}

/** Ids of the requests that the entries of a seal are about. */
async function requestsOf(
  store: Store,
  { projectId, ids, firstId, lastId }: StoredSeal,
): Promise<string[]> {
  const sealed = new Set(ids);
  const entries = await readEntriesBetween(store, projectId, firstId, lastId);
  const found = entries
    .filter(({ id, kind, subject }) => {
      return sealed.has(id) && KINDS.has(kind) && subject.startsWith(SUBJECT);
    })
    .map(({ subject }) => subject.slice(SUBJECT.length));
  return [...new Set(found)].sort();
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
