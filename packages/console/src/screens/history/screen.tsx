/**
 * History: all resolved requests, latest decision first, with statistics and exports for the same
 * filters, and full-text search. The filters and the search are in the address.
 */

import type { EndedRequest } from "@countersign/review-api";
import type { Input, Routes } from "@countersign/review-api/client";
import { t } from "../../language/t.ts";
import "./history.css";
import { useMemo, useState } from "preact/hooks";
import { api } from "../../api.ts";
import type { CursorPage } from "../../parts/cursor-pages.ts";
import { Icon } from "../../parts/icon.tsx";
import { ListHead } from "../../parts/list-head.tsx";
import { Page } from "../../parts/page.tsx";
import { useKeptPages } from "../../parts/use-kept-pages.ts";
import { useLoaded } from "../../parts/use-loaded.ts";
import { WindowedList } from "../../parts/windowed-list.tsx";
import { urlOf } from "../../root.ts";
import { route } from "../../route.ts";
import { session } from "../../session.ts";
import { noteServerTime } from "../../time.ts";
import { HistoryFilters } from "./history-filters.tsx";
import { toServerQuery } from "./history-query.ts";
import { HistoryRow } from "./history-row.tsx";
import { Insights } from "./insights.tsx";
import { NothingEnded } from "./nothing-ended.tsx";
import { SavedViews } from "./saved-views.tsx";
import { SearchField } from "./search-field.tsx";
import { SearchResults, type SearchResultsProps } from "./search-results.tsx";

const PAGE_SIZE = "100";

type Filters = NonNullable<Input<Routes["GET /history/insights"]>["query"]>;

/** The filters in a query; the server checks their values. */
function filtersOf(serverQuery: string): Filters {
  return Object.fromEntries(new URLSearchParams(serverQuery)) as Filters;
}

export function Screen() {
  const [round, setRound] = useState(0);
  const { query } = route.value;
  const serverQuery = toServerQuery(query).toString();
  const text = query.get("q") ?? "";
  const list = { serverQuery, round, onRefresh: () => setRound(round + 1) };
  return (
    <Page
      title={t`History`}
      actions={text === "" ? <Exports serverQuery={serverQuery} /> : undefined}
    >
      <SearchField />
      <HistoryFilters />
      <SavedViews />
      {text === "" ? <Resolved {...list} /> : <SearchResults text={text} {...list} />}
    </Page>
  );
}

type ListProps = Omit<SearchResultsProps, "text">;

function Resolved({ serverQuery, round, onRefresh }: ListProps) {
  const key = `${round} ${serverQuery}`;
  const pages = useKeptPages(key, (after, stop) => loadPage(serverQuery, after, stop));
  const { value: insights, error } = useLoaded(
    (signal) => api.call("GET /history/insights", { query: filtersOf(serverQuery), signal }),
    key,
  );
  const row = useMemo(() => (ended: EndedRequest) => <HistoryRow ended={ended} />, []);
  return (
    <>
      <Insights insights={insights} error={error} />
      <section class="panel list-panel" aria-label={t`Resolved requests`}>
        <ListHead onRefresh={onRefresh}>{t`Latest decision first`}</ListHead>
        <WindowedList
          label={t`Resolved requests`}
          pages={pages}
          rowRem={{ wide: 5.25, narrow: 7.5 }}
          row={row}
          empty={<NothingEnded isFiltered={serverQuery !== ""} />}
        />
      </section>
    </>
  );
}

async function loadPage(
  serverQuery: string,
  after: string | undefined,
  signal: AbortSignal,
): Promise<CursorPage<EndedRequest>> {
  const query = { ...filtersOf(serverQuery), limit: PAGE_SIZE, after };
  const askedAt = performance.now();
  const answer = await api.call("GET /history", { query, signal });
  noteServerTime(Date.parse(answer.now), askedAt);
  return { items: answer.requests, next: answer.next };
}

/** Of all that passes the filters, however long: the browser writes it to a file as it comes. */
function Exports({ serverQuery }: { readonly serverQuery: string }) {
  const address = (format: string) => {
    const query = new URLSearchParams(serverQuery);
    query.set("format", format);
    // The browser sends no header with a download.
    query.set("project", session.value?.project?.id ?? "");
    return urlOf(`review/v1/history/export?${query}`);
  };
  return (
    <>
      <a
        class="button"
        download
        href={address("csv")}
        title={t`Export the filtered requests as a table`}
      >
        <Icon name="download" /> {t`CSV`}
      </a>
      <a
        class="button"
        download
        href={address("jsonl")}
        title={t`Export the filtered requests with exact numbers, one JSON object per line`}
      >
        <Icon name="download" /> {t`JSON lines`}
      </a>
    </>
  );
}
