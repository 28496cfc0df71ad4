import type { DecisionTimes, HistoryInsights } from "@countersign/review-api";
import { formatNumber, plural, rich, t } from "../../language/t.ts";
import { Figure, FigureList } from "../../parts/figures.tsx";
import { Fault } from "../../parts/notice.tsx";
import { durationWords } from "../../parts/time-words.ts";
import { When } from "../../parts/when.tsx";

/** Keep the place of the values while they load. */
const LOADING = "…";
const BLANK = "\u00a0";

export interface InsightsProps {
  readonly insights: HistoryInsights | undefined;
  readonly error: Error | undefined;
}

/** Figures about the filtered requests. */
export function Insights({ insights, error }: InsightsProps) {
  if (error !== undefined) return <Fault error={error} />;
  const counts = insights?.by_status;
  const people = insights?.by_people;
  return (
    <section class="insights" aria-label={t`Figures`} aria-busy={insights === undefined}>
      <FigureList>
        <Figure
          name={t`approved`}
          hint={counts ? t`${counts.approved} approved, ${counts.denied} denied` : BLANK}
        >
          {percent(insights?.share_approved)}
        </Figure>
        <Figure name={t`median time to decision`} hint={people ? decisions(people) : BLANK}>
          {median(people)}
        </Figure>
        <Figure name={t`expired`} hint={counts ? t`no decision in time` : BLANK}>
          {counts ? formatNumber(counts.expired) : LOADING}
        </Figure>
        <Figure name={t`decided in under 2 s`} hint={people ? t`too fast to read the call` : BLANK}>
          {people ? formatNumber(people.under_2_s_after_creation) : LOADING}
        </Figure>
      </FigureList>
      {insights !== undefined && <OwnWords insights={insights} />}
    </section>
  );
}

function OwnWords({ insights }: { readonly insights: HistoryInsights }) {
  const { own, complete, looked_back_to: lookedBackTo } = insights;
  const looked = formatNumber(insights.looked_at);
  return (
    <p class="hint">
      {own.decisions > 0 && `${ownWords(own)} `}
      {!complete &&
        lookedBackTo !== null &&
        rich`Counted over the latest ${looked} requests, back to ${<When at={lookedBackTo} />}.`}
    </p>
  );
}

function ownWords(own: DecisionTimes): string {
  const { decisions, under_2_s_after_creation: quick } = own;
  return t`You decided ${decisions} of these, with a median of ${median(own)}, \
${quick} in under 2 s.`;
}

function decisions({ decisions: all }: DecisionTimes): string {
  return plural(all, { one: "1 decision by a reviewer", other: "# decisions by reviewers" });
}

function median(deciding: DecisionTimes | undefined): string {
  if (deciding === undefined) return LOADING;
  return deciding.median_ms === null ? "–" : durationWords(deciding.median_ms);
}

function percent(share: number | null | undefined): string {
  if (share === undefined) return LOADING;
  if (share === null) return "–";
  // A share below 100 % is never rounded up to 100 %.
  const rounded = Math.round(share * 1_000) / 10;
  if (share < 1 && rounded === 100) return t`> 99.9 %`;
  return share > 0 && rounded === 0 ? t`< 0.1 %` : t`${rounded} %`;
}
