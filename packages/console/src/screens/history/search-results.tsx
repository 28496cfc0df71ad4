/** The requests that a full-text search finds, pending ones too, and where each one matches. */

import type { FoundRequest } from "@countersign/review-api";
import type { Input, Routes } from "@countersign/review-api/client";
import { useMemo } from "preact/hooks";
import { api } from "../../api.ts";
import { plural, t } from "../../language/t.ts";
import type { CursorPage, CursorPages } from "../../parts/cursor-pages.ts";
import { ListHead } from "../../parts/list-head.tsx";
import { Empty } from "../../parts/notice.tsx";
import { useKeptPages } from "../../parts/use-kept-pages.ts";
import { WindowedList } from "../../parts/windowed-list.tsx";
import { FoundRow } from "./found-row.tsx";

const PAGE_SIZE = "50";

type Query = Input<Routes["GET /search"]>["query"];

export interface SearchResultsProps {
  readonly text: string;
  /** The filters as the server reads them. */
  readonly serverQuery: string;
  readonly round: number;
  onRefresh(): void;
}

export function SearchResults({ text, serverQuery, round, onRefresh }: SearchResultsProps) {
  const pages = useKeptPages(`search ${round} ${text} ${serverQuery}`, (after, stop) =>
    loadPage(text, serverQuery, after, stop),
  );
  const row = useMemo(() => (found: FoundRequest) => <FoundRow found={found} />, []);
  return (
    <section class="panel list-panel" aria-label={t`Search results`}>
      <ListHead onRefresh={onRefresh}>{t`Latest request first`}</ListHead>
      <Count pages={pages} />
      <WindowedList
        label={t`Search results`}
        pages={pages}
        rowRem={{ wide: 6.75, narrow: 9 }}
        row={row}
        empty={<NothingFound />}
      />
    </section>
  );
}

async function loadPage(
  text: string,
  serverQuery: string,
  after: string | undefined,
  signal: AbortSignal,
): Promise<CursorPage<FoundRequest>> {
  const filters = Object.fromEntries(new URLSearchParams(serverQuery));
  const query = { ...filters, q: text, limit: PAGE_SIZE, after } as Query;
  const answer = await api.call("GET /search", { query, signal });
  return { items: answer.requests, next: answer.next };
}

function Count({ pages }: { readonly pages: CursorPages<FoundRequest> }) {
  void pages.version.value;
  const { count, isComplete, isLoading } = pages;
  return (
    <p class="hint found-count" role="status">
      {isLoading && count === 0 ? t`Searching…` : countWords(count, isComplete)}
    </p>
  );
}

function countWords(count: number, isComplete: boolean): string {
  return isComplete
    ? plural(count, { one: "1 result", other: "# results" })
    : plural(count, { one: "1+ result", other: "#+ results" });
}

function NothingFound() {
  return (
    <Empty title={t`No matching requests`}>
      <p>
        {t`Use fewer words or remove a filter.`}{" "}
        {t`End a word with * to find words that start with it.`}{" "}
        {t`New requests can be found after a few seconds.`}
      </p>
    </Empty>
  );
}
