import type { DecisionTimes, HistoryInsights } from "@countersign/review-api";
import { Fault } from "../../parts/notice.tsx";
import { durationWords } from "../../parts/time-words.ts";
import { When } from "../../parts/when.tsx";

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
    <section class="insights" aria-label="Figures" aria-busy={insights === undefined}>
      <dl>
        <Figure
          value={percent(insights?.share_approved)}
          name="approved"
          words={counts && `${count(counts.approved)} approved, ${count(counts.denied)} denied`}
        />
        <Figure
          value={median(people)}
          name="median time to decision"
          words={people && decisions(people)}
        />
        <Figure
          value={counts && count(counts.expired)}
          name="expired"
          words={counts && "no decision in time"}
        />
        <Figure
          value={people && count(people.under_2_s_after_creation)}
          name="decided in under 2 s"
          words={people && "too fast to read the call"}
        />
      </dl>
      {insights !== undefined && <OwnWords insights={insights} />}
    </section>
  );
}

interface FigureProps {
  readonly value: string | undefined;
  readonly name: string;
  readonly words: string | undefined;
}

function Figure({ value = "…", name, words = " " }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span class="figure">{value}</span>
        <span class="hint">{words}</span>
      </dd>
    </div>
  );
}

function OwnWords({ insights }: { readonly insights: HistoryInsights }) {
  const { own, complete, looked_back_to: lookedBackTo } = insights;
  return (
    <p class="hint">
      {own.decisions > 0 &&
        `You decided ${count(own.decisions)} of these, with a median of ${median(own)}` +
          `, ${count(own.under_2_s_after_creation)} in under 2 s. `}
      {!complete && lookedBackTo !== null && (
        <>
          Counted over the latest {count(insights.looked_at)} requests, back to{" "}
          <When at={lookedBackTo} />.
        </>
      )}
    </p>
  );
}

function decisions({ decisions: all }: DecisionTimes): string {
  return all === 1 ? "1 decision" : `${count(all)} decisions`;
}

function median(deciding: DecisionTimes | undefined): string | undefined {
  if (deciding === undefined) return undefined;
  return deciding.median_ms === null ? "–" : durationWords(deciding.median_ms);
}

function percent(share: number | null | undefined): string | undefined {
  if (share === undefined) return undefined;
  if (share === null) return "–";
  // A share below 100 % is never rounded up to 100 %.
  const rounded = Math.round(share * 1_000) / 10;
  if (share < 1 && rounded === 100) return "> 99.9 %";
  return share > 0 && rounded === 0 ? "< 0.1 %" : `${rounded} %`;
}

function count(number: number): string {
  return number.toLocaleString("en-GB");
}
