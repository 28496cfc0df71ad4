/** The filters of the history page. */

import type { Reviewer } from "@countersign/review-api";
import { api } from "../../api.ts";
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
  { value: "approved", text: "Approved" },
  { value: "denied", text: "Denied" },
  { value: "expired", text: "Expired" },
  { value: "cancelled", text: "Cancelled" },
];

const DECIDERS: readonly Choice[] = [
  { value: "reviewer", text: "Any reviewer" },
  { value: "policy", text: "A policy rule" },
  { value: "grant", text: "A grant" },
  { value: "freeze", text: "A freeze" },
  { value: "instance", text: "The agent" },
  { value: "system", text: "The deadline or a deletion" },
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
    <FilterBar label="Filter the history" names={FILTERS}>
      <TextFilter label="Tool" name="tool" placeholder="stripe.refund or stripe.*" />
      <TextFilter label="Server" name="server" />
      <ChoiceFilter
        label="Instance"
        name="instance"
        all="All"
        choices={(instances ?? []).map(({ id, name }) => ({ value: id, text: name }))}
      />
      <ChoiceFilter
        label="Decided by"
        name="by"
        all="All"
        choices={DECIDERS}
        groups={groupsOf(reviewers ?? [])}
      />
      {route.value.query.get("by") === "policy" && <TextFilter label="Rule" name="rule" />}
      <DayFilter label="From" name="from" />
      <DayFilter label="To" name="to" />
      <SeveralFilter label="Outcome" name="status" choices={OUTCOMES} />
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
  return [of("person", "People"), of("bot", "Bots")].filter(({ choices }) => choices.length > 0);
}
