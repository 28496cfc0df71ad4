import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../../context.ts";
import type { JsonText, StoredRequest } from "../../core/request.ts";
import { deciderId } from "../../core/request.ts";
import { isOpen, matchesFilter, type RequestFilter } from "../../core/request-filter.ts";
import { parseSearch, type SearchTerm, toIndexTerms } from "../../core/search-words.ts";
import {
  type FieldMatch,
  matchTexts,
  type SearchedPeople,
  searchedTexts,
} from "../../core/searched-request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import type { Requirement } from "../../policy/rule.ts";
import { readSearchedPeople } from "../../steps/search/readSearchedPeople.ts";
import type { FoundDocument } from "../../storage/search-index.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { type Cursor, readRequests } from "../../storage/sql/requests/requests.ts";

export interface RequestSearch {
  readonly text: string;
  readonly filter: RequestFilter;
  readonly limit: number;
  /** End of the previous page. */
  readonly after: Cursor | undefined;
}

export interface FoundRequest {
  readonly request: StoredRequest;
  /** Unverified: a name does not prove an identity. */
  readonly instanceName: JsonText;
  /** Name of the reviewer who decided; undefined for other deciders. */
  readonly decider: string | undefined;
  readonly requirement: Requirement;
  readonly matches: readonly FieldMatch[];
}

export interface SearchPage {
  /** The latest request first. */
  readonly found: readonly FoundRequest[];
  /** Undefined on the last page. */
  readonly next: Cursor | undefined;
}

const DOCUMENTS_PER_STEP = 20;

/** Candidates of one page. A page can be short or empty before the last one. */
const DOCUMENTS_MAX = 400;

/** As listHistory: answers have bounded memory. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Searches pending and resolved requests of the caller's project: tool, arguments, notes, and names
 * of the reviewers who decided. The index finds candidates, and the request itself decides.
 *
 * @param signal aborted when the client disconnects
 * @throws the reason of the signal
 */
export async function searchRequests(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  { text, filter, limit, after }: RequestSearch,
  signal?: AbortSignal,
): Promise<SearchPage> {
  const terms = parseSearch(text);
  if (terms.length === 0) return { found: [], next: undefined };
  const query = { projectId, terms: toIndexTerms(terms), limit: DOCUMENTS_PER_STEP };
  const found: Matched[] = [];
  let [read, bytes] = [0, 0];
  let last: FoundDocument | undefined;
  for (;;) {
    const before = last?.document ?? after?.at ?? Number.MAX_SAFE_INTEGER;
    const documents = await store.search.find(store, { ...query, before });
    const candidates = await readCandidates({ store }, projectId, documents);
    for (const document of documents) {
      const candidate = candidates.get(document.requestId);
      const matched = candidate && matchOne(candidate, terms, filter);
      if (matched !== undefined) {
        const size = matched.request.arguments.length;
        const isFull =
          found.length === limit || (found.length > 0 && bytes + size > PAGE_BYTES_MAX);
        if (isFull) return finish(store, projectId, found, last);
        bytes += size;
        found.push(matched);
      }
      last = document;
      await nextTurn();
      signal?.throwIfAborted();
    }
    read += documents.length;
    if (documents.length < DOCUMENTS_PER_STEP) return finish(store, projectId, found, undefined);
    if (read >= DOCUMENTS_MAX) return finish(store, projectId, found, last);
  }
}

interface Candidate {
  readonly request: StoredRequest;
  readonly people: SearchedPeople;
}

/** By the id of the request. Purged and damaged requests are missing. */
async function readCandidates(
  { store }: Pick<Context, "store">,
  projectId: string,
  documents: readonly FoundDocument[],
): Promise<ReadonlyMap<string, Candidate>> {
  const ids = documents.map(({ requestId }) => requestId);
  const { requests } = await readRequests(store, projectId, ids);
  const people = await readSearchedPeople(store, projectId, requests);
  return new Map(
    requests.map((request, i) => {
      const known = people[i] ?? { names: [], notes: [] };
      return [request.id, { request, people: known }];
    }),
  );
}

type Matched = Pick<FoundRequest, "request" | "matches">;

function matchOne(
  { request, people }: Candidate,
  terms: readonly SearchTerm[],
  filter: RequestFilter,
): Matched | undefined {
  if (!passes(request, filter)) return undefined;
  const matches = matchTexts(terms, searchedTexts(request, people));
  return matches && { request, matches };
}

/** A pending request has no decision, so it passes no filter of decisions. */
function passes(request: StoredRequest, filter: RequestFilter): boolean {
  const { id, instanceId, tool, server, createdAt, decision } = request;
  if (decision === null) {
    const { decidedBy, statuses, since, until } = filter;
    if ((decidedBy ?? statuses ?? since ?? until) !== undefined) return false;
    if (isOpen(filter)) return true;
  }
  const {
    decidedAt: at = createdAt,
    status = "expired",
    decidedBy = "system:deadline",
  } = decision ?? {};
  if (at < (filter.since ?? 0) || at >= (filter.until ?? Number.POSITIVE_INFINITY)) return false;
  const outline = { id, instanceId, tool, server, createdAt, status, decidedBy, at, bytes: 0 };
  return matchesFilter(filter, outline);
}

async function finish(
  store: Context["store"],
  projectId: string,
  found: readonly Matched[],
  last: FoundDocument | undefined,
): Promise<SearchPage> {
  const instanceIds = found.map(({ request }) => request.instanceId);
  const deciders = found.flatMap(({ request }) => deciderId(request) ?? []);
  const [instances, reviewers] = await Promise.all([
    readInstances(store, projectId, [...new Set(instanceIds)]),
    readReviewers(store, projectId, [...new Set(deciders)]),
  ]);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return {
    found: found.map(({ request, matches }) => ({
      request,
      matches,
      instanceName: instances.get(request.instanceId)?.name ?? '""',
      decider: names.get(deciderId(request) ?? ""),
      requirement: requirementOf(readJudgement(request.policy)),
    })),
    next: last && { at: last.document, id: last.requestId },
  };
}
