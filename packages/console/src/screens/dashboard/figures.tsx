import type { StatisticsAnswer } from "@countersign/review-api";
import { formatNumber, plural, t } from "../../language/t.ts";
import { Figure, FigureList } from "../../parts/figures.tsx";
import { durationWords } from "../../parts/time-words.ts";
import { href } from "../../route.ts";
import { percent } from "./counts.ts";
import { historyPath } from "./range.ts";

/** The most important numbers; each leads to its rows. */
export function Figures({ statistics }: { readonly statistics: StatisticsAnswer }) {
  const { total, people, by_status: byStatus, by_decider: by, since } = statistics;
  const link = (filters: Readonly<Record<string, string>>, text: string) => (
    <a href={href(historyPath(since, filters))}>{text}</a>
  );
  const share = (kind: "policy" | "grant" | "reviewer") =>
    link({ by: kind }, percent(by[kind], total));
  return (
    <section aria-labelledby="figures-title">
      <h2 id="figures-title" class="spoken">
        {t`Figures`}
      </h2>
      <FigureList>
        <Figure name={t`resolved`} hint={t`${byStatus.approved} approved`}>
          {link({}, formatNumber(total))}
        </Figure>
        <Figure name={t`decided by a policy rule`} hint={requests(by.policy)}>
          {share("policy")}
        </Figure>
        <Figure name={t`decided by a grant`} hint={requests(by.grant)}>
          {share("grant")}
        </Figure>
        <Figure name={t`decided by reviewers`} hint={requests(by.reviewer)}>
          {share("reviewer")}
        </Figure>
        <Figure name={t`median time to decision`} hint={t`of reviewers`}>
          {words(people.p50_ms)}
        </Figure>
        <Figure name={t`90 % decided within`} hint={t`of reviewers`}>
          {words(people.p90_ms)}
        </Figure>
        <Figure name={t`expired`} hint={t`of requests that waited for reviewers`}>
          {link(
            { status: "expired" },
            percent(byStatus.expired, byStatus.expired + people.decisions),
          )}
        </Figure>
        <Figure name={t`approved in under 2 s`} hint={t`too fast to read the call`}>
          {formatNumber(people.approvals_under_2_s)}
        </Figure>
      </FigureList>
    </section>
  );
}

function requests(number: number): string {
  return plural(number, { one: "1 request", other: "# requests" });
}

function words(ms: number | null): string {
  return ms === null ? "–" : durationWords(ms);
}
