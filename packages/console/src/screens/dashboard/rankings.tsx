import type { StatisticsAnswer } from "@countersign/review-api";
import { Text } from "../../exact/text.tsx";
import { formatNumber, t } from "../../language/t.ts";
import { href } from "../../route.ts";
import { historyPath } from "./range.ts";

/** A row of a ranking: what is counted, and the filters of its requests in the history. */
interface Ranked {
  readonly key: string;
  readonly name: string;
  readonly total: number;
  readonly denied: number;
  /** Undefined: the history cannot filter it exactly. */
  readonly filters: Readonly<Record<string, string>> | undefined;
}

interface RankingProps {
  readonly id: string;
  readonly title: string;
  readonly since: string;
  readonly rows: readonly Ranked[];
  /** Rows, including those that are not shown. */
  readonly all: number;
}

/** The latest requests by tool, server, instance, reviewer and rule. */
export function Rankings({ statistics }: { readonly statistics: StatisticsAnswer }) {
  const { since, by_tool, by_server, by_instance, by_reviewer, by_rule } = statistics;
  const tools = by_tool.top.map((row) => ({
    ...row,
    key: row.tool,
    name: row.tool,
    // The history reads a star at the end as "starts with".
    filters: row.tool.endsWith("*") ? undefined : { tool: row.tool },
  }));
  const servers = by_server.top.map((row) => ({
    ...row,
    key: row.server,
    name: row.server,
    filters: { server: row.server },
  }));
  const instances = by_instance.top.map(({ instance, ...row }) => ({
    ...row,
    key: instance.id,
    name: instance.name || instance.id,
    filters: { instance: instance.id },
  }));
  const reviewers = by_reviewer.top.map(({ reviewer, ...row }) => ({
    ...row,
    key: reviewer.id,
    name: reviewer.name ?? t`a removed reviewer`,
    filters: { by: `reviewer:${reviewer.id}` },
  }));
  const rules = by_rule.top.map((row) => ({
    ...row,
    key: row.rule,
    name: row.rule,
    filters: { by: "policy", rule: row.rule },
  }));
  const shared = { since };
  return (
    <div class="rankings">
      <Ranking {...shared} id="tools" title={t`Tools`} rows={tools} all={by_tool.count} />
      <Ranking {...shared} id="servers" title={t`Servers`} rows={servers} all={by_server.count} />
      <Ranking
        {...shared}
        id="instances"
        title={t`Instances`}
        rows={instances}
        all={by_instance.count}
      />
      <Ranking
        {...shared}
        id="reviewers"
        title={t`Reviewers`}
        rows={reviewers}
        all={by_reviewer.count}
      />
      <Ranking {...shared} id="rules" title={t`Policy rules`} rows={rules} all={by_rule.count} />
    </div>
  );
}

function Ranking({ id, title, since, rows, all }: RankingProps) {
  const most = rows[0]?.total ?? 1;
  if (rows.length === 0) return null;
  return (
    <section class="panel" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <ol>
        {rows.map(({ key, name, total, denied, filters }) => (
          <li key={key}>
            <span class="ranked-name">
              <bdi>
                {filters === undefined ? (
                  <Text>{name}</Text>
                ) : (
                  <a href={href(historyPath(since, filters))}>
                    <Text>{name}</Text>
                  </a>
                )}
              </bdi>
            </span>
            <span class="ranked-count">
              {formatNumber(total)}
              {denied > 0 && <span class="hint">, {t`${denied} denied`}</span>}
            </span>
            <svg class="bar" aria-hidden="true" viewBox="0 0 100 4" preserveAspectRatio="none">
              <rect width={Math.max(1, (100 * total) / most)} height="4" />
            </svg>
          </li>
        ))}
      </ol>
      {all > rows.length && <p class="hint">{t`The first ${rows.length} of ${all}.`}</p>}
    </section>
  );
}
