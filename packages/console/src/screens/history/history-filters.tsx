/** The filters of the history page. */

import type { Reviewer } from "@countersign/review-api";
import { api } from "../../api.ts";
import { t } from "../../language/t.ts";
import {
  type Choice,
  ChoiceFilter,
  type ChoiceGroup,
  DayFilter,
  FilterBar,
  SeveralFilter,
  TextFilter,
} from "../../parts/filter-bar.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { route } from "../../route.ts";
import { FILTERS } from "./history-query.ts";

const OUTCOMES: readonly Choice[] = [
  { value: "approved", text: t`Approved` },
  { value: "denied", text: t`Denied` },
  { value: "expired", text: t`Expired` },
  { value: "cancelled", text: t`Cancelled` },
];

const DECIDERS: readonly Choice[] = [
  { value: "reviewer", text: t`Any reviewer` },
  { value: "policy", text: t`A policy rule` },
  { value: "grant", text: t`A grant` },
  { value: "freeze", text: t`A freeze` },
  { value: "instance", text: t`The agent` },
  { value: "system", text: t`The deadline or a deletion` },
];

/** Instances of this many can be chosen; others by their own page. */
const LISTED = "200";

export function HistoryFilters() {
  const reviewers = useLoaded((signal) => api.call("GET /reviewers", { signal }), "").value
    ?.reviewers;
  const instances = useLoaded(
    (signal) => api.call("GET /instances", { query: { limit: LISTED }, signal }),
    "",
  ).value?.instances;
  return (
    <FilterBar label={t`Filter the history`} names={FILTERS}>
      <TextFilter label={t`Tool`} name="tool" placeholder={t`stripe.refund or stripe.*`} />
      <TextFilter label={t`Server`} name="server" />
      <ChoiceFilter
        label={t`Instance`}
        name="instance"
        all={t`All`}
        choices={(instances ?? []).map(({ id, name }) => ({ value: id, text: name }))}
      />
      <ChoiceFilter
        label={t`Decided by`}
        name="by"
        all={t`All`}
        choices={DECIDERS}
        groups={groupsOf(reviewers ?? [])}
      />
      {route.value.query.get("by") === "policy" && <TextFilter label={t`Rule`} name="rule" />}
      <DayFilter label={t`From`} name="from" />
      <DayFilter label={t`To`} name="to" />
      <SeveralFilter label={t`Outcome`} name="status" choices={OUTCOMES} />
    </FilterBar>
  );
}

function groupsOf(reviewers: readonly Reviewer[]): ChoiceGroup[] {
  const of = (wanted: Reviewer["kind"], label: string): ChoiceGroup => ({
    label,
    choices: reviewers
      .filter(({ kind }) => kind === wanted)
      .map(({ id, name }) => ({ value: `reviewer:${id}`, text: name })),
  });
  return [of("person", t`People`), of("bot", t`Bots`)].filter(({ choices }) => choices.length > 0);
}
