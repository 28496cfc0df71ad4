/** Simulates a draft on past calls; nothing is written. */

import type { PolicyPath, SimulatedChange, SimulationSummary } from "@countersign/review-api";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { t } from "../../language/t.ts";
import { messageOf } from "../../parts/button.tsx";
import { Changes } from "./changes.tsx";
import { simulate } from "./policy-api.ts";
import { summaryOf } from "./simulation-words.ts";

interface Run {
  readonly total: number | null;
  readonly replayed: number;
  readonly changes: readonly SimulatedChange[];
  readonly summary: SimulationSummary | undefined;
  readonly fault: string;
}

const NOTHING: Run = { total: null, replayed: 0, changes: [], summary: undefined, fault: "" };

const PERIODS = [
  ["24h", t`the last day`],
  ["168h", t`the last 7 days`],
  ["720h", t`the last 30 days`],
] as const;

interface SimulationProps {
  readonly scope: PolicyPath;
  readonly source: string;
}

export function Simulation({ scope, source }: SimulationProps) {
  const titleId = useId();
  const [since, setSince] = useState<string>("168h");
  return (
    <section class="panel" aria-labelledby={titleId}>
      <h2 id={titleId}>{t`Simulation`}</h2>
      <Draft
        // The answer about one text is not shown beside another.
        key={`${scope} ${source}`}
        scope={scope}
        source={source}
        since={since}
        onSince={setSince}
      />
    </section>
  );
}

interface DraftProps extends SimulationProps {
  /** The period whose calls are replayed. */
  readonly since: string;
  onSince(since: string): void;
}

function Draft({ scope, source, since, onSince }: DraftProps) {
  const [run, setRun] = useState<Run>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);

  async function begin(): Promise<void> {
    stop.current?.abort();
    const mine = new AbortController();
    stop.current = mine;
    let now = NOTHING;
    const show = (change: Partial<Run>) => {
      now = { ...now, ...change };
      if (stop.current === mine) setRun(now);
    };
    show({});
    try {
      for await (const event of simulate(scope, { source, since }, mine.signal)) {
        if (event.event === "started") show({ total: event.total });
        else if (event.event === "progress") show({ replayed: event.replayed });
        else if (event.event === "changed") show({ changes: [...now.changes, event] });
        else show({ summary: event, replayed: event.replayed });
      }
      if (now.summary === undefined && now.fault === "")
        show({ fault: t`The connection was interrupted.` });
    } catch (error) {
      if (!mine.signal.aborted) show({ fault: messageOf(error) });
    }
  }

  const isRunning = run !== undefined && run.summary === undefined && run.fault === "";
  return (
    <>
      <form
        class="inline-form"
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        <label>
          {t`Calls of`}{" "}
          <select value={since} onChange={(event) => onSince(event.currentTarget.value)}>
            {PERIODS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" aria-busy={isRunning}>
          {t`Simulate`}
        </button>
      </form>
      {run === undefined ? (
        <p class="hint">{t`Test the draft against past calls. Nothing is changed.`}</p>
      ) : (
        <Answer run={run} isRunning={isRunning} />
      )}
    </>
  );
}

function Answer({ run, isRunning }: { readonly run: Run; readonly isRunning: boolean }) {
  return (
    <>
      {isRunning && (
        <progress
          aria-label={t`Calls checked`}
          {...(run.total !== null && { max: Math.max(1, run.total), value: run.replayed })}
        />
      )}
      {run.fault !== "" && (
        <p class="alert" role="alert">
          {run.fault}
        </p>
      )}
      <p role="status">{run.summary === undefined ? "" : summaryOf(run.summary)}</p>
      <Changes changes={run.changes} summary={run.summary} />
    </>
  );
}
