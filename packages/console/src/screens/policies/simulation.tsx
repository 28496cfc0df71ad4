/** Simulates a draft on past calls; nothing is written. */

import type { PolicyPath, SimulatedChange, SimulationSummary } from "@countersign/review-api";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { messageOf } from "../../parts/button.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { href } from "../../route.ts";
import { simulate } from "./policy-api.ts";

interface Run {
  readonly total: number | null;
  readonly replayed: number;
  readonly changes: readonly SimulatedChange[];
  readonly summary: SimulationSummary | undefined;
  readonly fault: string;
}

const NOTHING: Run = { total: null, replayed: 0, changes: [], summary: undefined, fault: "" };

const PERIODS = [
  ["24h", "the last day"],
  ["168h", "the last 7 days"],
  ["720h", "the last 30 days"],
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
      <h2 id={titleId}>Simulation</h2>
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
        show({ fault: "The connection was interrupted." });
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
          Calls of{" "}
          <select value={since} onChange={(event) => onSince(event.currentTarget.value)}>
            {PERIODS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" aria-busy={isRunning}>
          Simulate
        </button>
      </form>
      {run === undefined ? (
        <p class="hint">Test the draft against past calls. Nothing is changed.</p>
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
          aria-label="Calls checked"
          {...(run.total !== null && { max: Math.max(1, run.total), value: run.replayed })}
        />
      )}
      {run.fault !== "" && (
        <p class="alert" role="alert">
          {run.fault}
        </p>
      )}
      <p role="status">{run.summary === undefined ? "" : summaryOf(run.summary)}</p>
      {run.changes.length > 0 && (
        <ul class="changes">
          {run.changes.map((change) => (
            <ChangeRow key={change.id} change={change} />
          ))}
        </ul>
      )}
    </>
  );
}

function summaryOf(summary: SimulationSummary): string {
  const { replayed, unchanged, changes, requirement_changed, errors, ended } = summary;
  if (replayed === 0) return "No calls in that period.";
  const counts = Object.entries(changes).map(
    ([change, count]) => `${count} ${change.replace("->", " becomes ")}`,
  );
  if (requirement_changed > 0) counts.push(`${requirement_changed} need different approvals`);
  if (counts.length === 0) counts.push("no changes");
  if (errors > 0) counts.push(`${errors} with a rule error (people decide)`);
  const rest = ended === "all" ? "" : " Older calls were skipped.";
  return `${replayed} calls checked, ${unchanged} unchanged: ${counts.join("; ")}.${rest}`;
}

function ChangeRow({ change }: { readonly change: SimulatedChange }) {
  const { id, tool, server, instance, was, would_be, because, differs = [], errors } = change;
  return (
    <li>
      <a href={href(`/inbox/${id}`)}>
        <Text>{tool}</Text>
      </a>{" "}
      <OnServer server={server} />
      <span class="hint">
        <Text>{instance.name || instance.id}</Text>
      </span>
      <span class="change">
        {differs.length > 0 ? `another ${differs.join(", ")}` : `${was} → ${would_be}`}
      </span>
      <span class="hint">
        <Text>{because}</Text>
        {errors.map((error) => (
          <span key={error.rule} class="fault">
            {" "}
            <Text>{error.rule}</Text>: <Text>{error.message}</Text>
          </span>
        ))}
      </span>
    </li>
  );
}
