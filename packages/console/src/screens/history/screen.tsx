/**
 * History: all resolved requests, latest decision first, with statistics and exports for the same
 * filters. The filters are in the address.
 */

import type { EndedRequest } from "@countersign/review-api";
import type { Input, Routes } from "@countersign/review-api/client";
import "./history.css";
import { useMemo, useState } from "preact/hooks";
import { api } from "../../api.ts";
import type { CursorPage } from "../../parts/cursor-pages.ts";
import { Icon } from "../../parts/icon.tsx";
import { ListHead } from "../../parts/list-head.tsx";
import { Empty } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { useKeptPages } from "../../parts/use-kept-pages.ts";
import { useLoaded } from "../../parts/use-loaded.ts";
import { WindowedList } from "../../parts/windowed-list.tsx";
import { urlOf } from "../../root.ts";
import { route } from "../../route.ts";
import { noteServerTime } from "../../time.ts";
import { HistoryFilters } from "./history-filters.tsx";
import { toServerQuery } from "./history-query.ts";
import { HistoryRow } from "./history-row.tsx";
import { Insights } from "./insights.tsx";

const PAGE_SIZE = "100";

type Filters = NonNullable<Input<Routes["GET /history/insights"]>["query"]>;

/** The filters in a query; the server checks their values. */
function filtersOf(serverQuery: string): Filters {
  return Object.fromEntries(new URLSearchParams(serverQuery)) as Filters;
}

export function Screen() {
  const [round, setRound] = useState(0);
  const serverQuery = toServerQuery(route.value.query).toString();
  const key = `${round} ${serverQuery}`;
  const pages = useKeptPages(key, (after, stop) => loadPage(serverQuery, after, stop));
  const { value: insights, error } = useLoaded(
    (signal) => api.call("GET /history/insights", { query: filtersOf(serverQuery), signal }),
    key,
  );
  const row = useMemo(() => (ended: EndedRequest) => <HistoryRow ended={ended} />, []);
  return (
    <Page title="History" actions={<Exports serverQuery={serverQuery} />}>
      <HistoryFilters />
      <Insights insights={insights} error={error} />
      <section class="panel list-panel" aria-label="Resolved requests">
        <ListHead onRefresh={() => setRound(round + 1)}>Latest decision first</ListHead>
        <WindowedList
          label="Resolved requests"
          pages={pages}
          rowRem={{ wide: 4, narrow: 6.25 }}
          row={row}
          empty={<NothingEnded isFiltered={serverQuery !== ""} />}
        />
      </section>
    </Page>
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
    return urlOf(`review/v1/history/export?${query}`);
  };
  return (
    <>
      <a
        class="button"
        download
        href={address("csv")}
        title="Export the filtered requests as a table"
      >
        <Icon name="download" /> CSV
      </a>
      <a
        class="button"
        download
        href={address("jsonl")}
        title="Export the filtered requests with exact numbers, one JSON object per line"
      >
        <Icon name="download" /> JSON lines
      </a>
    </>
  );
}

function NothingEnded({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No matching requests">
      <p>Remove a filter or select other dates. For a part of a tool's name, use refund*.</p>
    </Empty>
  ) : (
    <Empty title="No decisions yet">
      <p>Approved, denied, cancelled and expired requests appear here.</p>
    </Empty>
  );
}
