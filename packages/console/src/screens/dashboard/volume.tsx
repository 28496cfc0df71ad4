import type { StatisticsAnswer } from "@countersign/review-api";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatNumber, t } from "../../language/t.ts";
import { Scroller } from "../../parts/scroller.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { dayAndClock, weekdayAndDay } from "../../parts/time-words.ts";
import type { Range } from "./range.ts";
import { COUNT_WORDS, STATUS_WORDS, STATUSES } from "./statuses.ts";
import type { VolumeChart } from "./volume-chart.ts";

type Bucket = StatisticsAnswer["buckets"][number];

const TITLES: Readonly<Record<Range["bucket"], string>> = {
  hour: t`Resolved requests by hour`,
  day: t`Resolved requests by day`,
};

export interface VolumeProps {
  readonly range: Range;
  readonly statistics: StatisticsAnswer;
}

/** Resolved requests over time: a chart, the same in a sentence, and as a table. */
export function Volume({ range, statistics }: VolumeProps) {
  const { buckets } = statistics;
  return (
    <section class="panel" aria-labelledby="volume-title">
      <header class="panel-head">
        <h2 id="volume-title">{TITLES[range.bucket]}</h2>
      </header>
      <p id="volume-summary">{summaryOf(range, statistics)}</p>
      <Legend />
      <Chart buckets={buckets} bucket={range.bucket} />
      <details>
        <summary>{t`Show as a table`}</summary>
        <Scroller class="table-box" label={t`Resolved requests as a table`}>
          <Table
            caption={TITLES[range.bucket]}
            columns={columnsOf(range)}
            items={buckets.toReversed()}
            keyOf={({ from }) => from}
          />
        </Scroller>
      </details>
    </section>
  );
}

/** A swatch has the pattern of its bars, so the chart can be read without colours. */
function Legend() {
  return (
    <ul class="legend" aria-hidden="true">
      {STATUSES.map((status) => (
        <li key={status}>
          <span class={`swatch ${status}`} /> {STATUS_WORDS[status]}
        </li>
      ))}
    </ul>
  );
}

interface ChartProps {
  readonly buckets: readonly Bucket[];
  readonly bucket: Range["bucket"];
}

function Chart({ buckets, bucket }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    let chart: VolumeChart | undefined;
    let isClosed = false;
    import("./volume-chart.ts")
      .then(({ VolumeChart }) => {
        if (isClosed || box.current === null) return;
        chart = new VolumeChart(box.current, buckets, bucket);
      })
      .catch(() => setFailed(true));
    return () => {
      isClosed = true;
      chart?.close();
    };
  }, [buckets, bucket]);
  if (hasFailed) return <p class="hint">{t`This browser cannot show the chart. Use the table.`}</p>;
  return (
    <div
      class="chart"
      ref={box}
      role="img"
      aria-labelledby="volume-title"
      aria-describedby="volume-summary"
    />
  );
}

function totalOf({ approved, denied, expired, cancelled }: Bucket): number {
  return approved + denied + expired + cancelled;
}

function summaryOf({ label, bucket }: Range, { buckets, by_status: by }: StatisticsAnswer): string {
  const busiest = buckets.reduce((most, one) => (totalOf(one) > totalOf(most) ? one : most));
  const counts = STATUSES.map((status) => COUNT_WORDS[status](by[status])).join(", ");
  const most = totalOf(busiest);
  const time = wordsOf(busiest.from, bucket);
  return bucket === "hour"
    ? t`In the last ${label}: ${counts}. The busiest hour: ${most} on ${time}.`
    : t`In the last ${label}: ${counts}. The busiest day: ${most} on ${time}.`;
}

function wordsOf(from: string, bucket: Range["bucket"]): string {
  return (bucket === "hour" ? dayAndClock : weekdayAndDay)(Date.parse(from));
}

function columnsOf({ bucket }: Range): readonly Column<Bucket>[] {
  return [
    {
      title: bucket === "hour" ? t`Hour` : t`Day`,
      isHead: true,
      cell: ({ from }) => <time dateTime={from}>{wordsOf(from, bucket)}</time>,
    },
    ...STATUSES.map((status) => ({
      title: STATUS_WORDS[status],
      cell: (one: Bucket) => formatNumber(one[status]),
    })),
  ];
}
