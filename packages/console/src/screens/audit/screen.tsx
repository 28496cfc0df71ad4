/**
 * Audit: what happened, who did it, about what and when; whether the log is what was sealed; and
 * the checkpoint for a third party.
 */

import type { Reviewer } from "@countersign/review-api";
import type { Input, Routes } from "@countersign/review-api/client";
import { t } from "../../language/t.ts";
import "./audit.css";
import { useMemo, useState } from "preact/hooks";
import { api } from "../../api.ts";
import { ChoiceFilter, DayFilter, FilterBar, TextFilter } from "../../parts/filter-bar.tsx";
import { Empty } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { dayStart } from "../../parts/query.ts";
import { useKeptPages } from "../../parts/use-kept-pages.ts";
import { useLoaded } from "../../parts/use-loaded.ts";
import { WindowedList } from "../../parts/windowed-list.tsx";
import { may } from "../../powers.ts";
import { route } from "../../route.ts";
import { type AuditEntry, type LogName, readAuditEntry } from "./audit-entry.ts";
import { AuditRow } from "./audit-row.tsx";
import { KIND_GROUPS, type Names } from "./audit-words.ts";
import { Checkpoint } from "./checkpoint.tsx";
import { EntryDialog } from "./entry-dialog.tsx";
import { Verification } from "./verification.tsx";

const FILTERS = ["kind", "actor", "subject", "from", "to", "log"];
const PAGE_SIZE = 100;

export function Screen() {
  if (may("audit")) return <AuditLog />;
  return (
    <Page title={t`Audit`}>
      <Empty title={t`The audit log is for auditors and admins`}>
        <p>{t`Your role in this project has no access to it.`}</p>
      </Empty>
    </Page>
  );
}

function AuditLog() {
  const [opened, setOpened] = useState<AuditEntry>();
  const { query } = route.value;
  const log = query.get("log") === "server" ? "server" : "project";
  const serverQuery = toServerQuery(query, log);
  const pages = useKeptPages(serverQuery, async (after, signal) => {
    const query = { ...filtersOf(serverQuery), after };
    const { entries, next } = await api.call("GET /audit/entries", { query, signal });
    return { items: entries.map(readAuditEntry), next };
  });
  const { names, reviewers } = useNames();
  const row = useMemo(
    () => (entry: AuditEntry) => <AuditRow entry={entry} names={names} onOpen={setOpened} />,
    [names],
  );
  return (
    <Page
      title={t`Audit`}
      lead={t`Every action is recorded and sealed within seconds. Entries cannot be changed.`}
    >
      <div class="audit-proofs">
        <Verification key={log} log={log} />
        <Checkpoint log={log} />
      </div>
      <AuditFilters reviewers={reviewers} />
      <section class="panel list-panel" aria-label={t`Entries`}>
        <WindowedList
          label={t`Entries`}
          pages={pages}
          rowRem={{ wide: 3, narrow: 4.75 }}
          row={row}
          empty={
            <Empty title={t`No matching entries`}>
              <p>{t`Remove a filter or select other dates.`}</p>
            </Empty>
          }
        />
      </section>
      {opened !== undefined && (
        <EntryDialog entry={opened} names={names} log={log} onClose={() => setOpened(undefined)} />
      )}
    </Page>
  );
}

function AuditFilters({ reviewers }: { readonly reviewers: readonly Reviewer[] }) {
  const people = reviewers.map(({ id, name }) => ({ value: `reviewer:${id}`, text: name }));
  return (
    <FilterBar label={t`Filter the entries`} names={FILTERS}>
      <ChoiceFilter label={t`What`} name="kind" all={t`All`} choices={[]} groups={KIND_GROUPS} />
      <ChoiceFilter
        label={t`Who`}
        name="actor"
        all={t`All`}
        choices={[{ value: "operator:cli", text: t`The command line` }]}
        groups={people.length > 0 ? [{ label: t`Reviewers`, choices: people }] : []}
      />
      <TextFilter label={t`About`} name="subject" placeholder={t`request:ID`} />
      <DayFilter label={t`From`} name="from" />
      <DayFilter label={t`To`} name="to" />
      {may("server") && (
        <ChoiceFilter
          label={t`Log`}
          name="log"
          all={t`This project`}
          choices={[{ value: "server", text: t`The whole server` }]}
        />
      )}
    </FilterBar>
  );
}

type Filters = NonNullable<Input<Routes["GET /audit/entries"]>["query"]>;

/** The filters in a query; the server checks their values. */
function filtersOf(serverQuery: string): Filters {
  return Object.fromEntries(new URLSearchParams(serverQuery)) as Filters;
}

function toServerQuery(query: URLSearchParams, log: LogName): string {
  const serverQuery = new URLSearchParams({ log });
  for (const name of ["kind", "actor", "subject"]) {
    const value = query.get(name);
    if (value) serverQuery.set(name, value);
  }
  const since = dayStart(query.get("from") ?? "");
  const until = dayStart(query.get("to") ?? "", 1);
  if (since !== undefined) serverQuery.set("since", since);
  if (until !== undefined) serverQuery.set("until", until);
  serverQuery.set("limit", String(PAGE_SIZE));
  return serverQuery.toString();
}

/** Names of reviewers and instances; what is not among them is shown by its id. */
function useNames(): { readonly names: Names; readonly reviewers: readonly Reviewer[] } {
  const reviewers = useLoaded((signal) => api.call("GET /reviewers", { signal }), "").value
    ?.reviewers;
  const instances = useLoaded(
    (signal) => api.call("GET /instances", { query: { limit: "200" }, signal }),
    "",
  ).value?.instances;
  return useMemo(() => {
    const all = [
      ...(reviewers ?? []).map(({ id, name }) => [`reviewer:${id}`, name] as const),
      ...(instances ?? []).map(({ id, name }) => [`instance:${id}`, name] as const),
    ];
    return { names: new Map(all), reviewers: reviewers ?? [] };
  }, [reviewers, instances]);
}
