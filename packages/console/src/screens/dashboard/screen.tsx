/** Dashboard: what was decided in a range, how fast, and by whom. The range is in the address. */

import type { StatisticsAnswer } from "@countersign/review-api";
import type { ComponentChild } from "preact";
import "./dashboard.css";
import { api } from "../../api.ts";
import { formatNumber, rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { href, route } from "../../route.ts";
import { noteServerTime, serverNow } from "../../time.ts";
import { Figures } from "./figures.tsx";
import { RANGES, type Range, rangeOf, startOf } from "./range.ts";
import { Rankings } from "./rankings.tsx";
import { Suggestions } from "./suggestions.tsx";
import { Volume } from "./volume.tsx";

export function Screen() {
  const range = rangeOf(route.value.query);
  const { value, error, reload } = useLoaded((signal) => load(range, signal), range.name);
  return (
    <Page
      title={t`Dashboard`}
      actions={
        <Button kind="quiet" onPress={reload}>
          <Icon name="refresh" /> {t`Refresh`}
        </Button>
      }
    >
      <Ranges current={range} />
      <p class="spoken" role="status">
        {value !== undefined && t`Last ${range.label}: ${value.total} resolved requests.`}
      </p>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <div class="dashboard" aria-busy={value === undefined && error === undefined}>
        {value !== undefined && <Shown range={range} statistics={value} />}
      </div>
      {may("publish") && <Suggestions />}
    </Page>
  );
}

async function load(range: Range, signal: AbortSignal): Promise<StatisticsAnswer> {
  const since = startOf(range, serverNow()).toISOString();
  const askedAt = performance.now();
  const query = { since, bucket: range.bucket };
  const answer = await api.call("GET /statistics", { query, signal });
  noteServerTime(Date.parse(answer.now), askedAt);
  return answer;
}

/** Links keep the focus, and the range can be shared. */
function Ranges({ current }: { readonly current: Range }) {
  return (
    <nav class="ranges" aria-label={t`Range`}>
      {RANGES.map(({ name, label }) => (
        <a
          key={name}
          class="button"
          href={href(`/dashboard?range=${name}`)}
          aria-current={name === current.name ? "true" : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

interface ShownProps {
  readonly range: Range;
  readonly statistics: StatisticsAnswer;
}

function Shown({ range, statistics }: ShownProps) {
  const { complete, looked_at: lookedAt, looked_back_to: lookedBackTo } = statistics;
  if (statistics.total === 0) {
    return (
      <section class="panel">
        <Empty title={t`No requests were resolved in the last ${range.label}`}>
          <p>
            {t`Approved, denied, expired and cancelled requests appear here.`}{" "}
            {t`Select a longer range.`}
          </p>
        </Empty>
      </section>
    );
  }
  return (
    <>
      {!complete && lookedBackTo !== null && (
        <Incomplete count={formatNumber(lookedAt)} backTo={<When at={lookedBackTo} exact />} />
      )}
      <Figures statistics={statistics} />
      <Volume range={range} statistics={statistics} />
      <Rankings statistics={statistics} />
    </>
  );
}

interface IncompleteProps {
  /** Number of the requests that the numbers cover. */
  readonly count: ComponentChild;
  /** When the oldest of them was resolved. */
  readonly backTo: ComponentChild;
}

function Incomplete({ count, backTo }: IncompleteProps) {
  return (
    <p class="note">
      <span>
        {rich`Incomplete: all numbers cover the latest ${count} requests, back to ${backTo}.`}
      </span>
    </p>
  );
}
