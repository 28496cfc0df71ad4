/** Computes the sealed log again, on the server, and says what came of it. */

import type { VerificationLine } from "@countersign/review-api";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { messageOf } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { exactTime } from "../../parts/time-words.ts";
import type { LogName } from "./audit-entry.ts";

type Summary = Extract<VerificationLine, { readonly event: "summary" }>;

type Finding = NonNullable<Summary["finding"]>;

const COMMAND = <code>countersign audit verify</code>;

interface Verifying {
  readonly size: number;
  readonly verified: number;
  readonly summary?: Summary;
  readonly fault?: string;
}

export function Verification({ log }: { readonly log: LogName }) {
  const [state, setState] = useState<Verifying>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const isRunning = state !== undefined && !state.summary && state.fault === undefined;

  async function verify(): Promise<void> {
    if (isRunning) return;
    const own = new AbortController();
    stop.current = own;
    let seen: Verifying = { size: 0, verified: 0 };
    const show = (change: Partial<Verifying>) => {
      seen = { ...seen, ...change };
      setState(seen);
    };
    show({});
    try {
      const input = { query: { log }, signal: own.signal };
      for await (const line of api.lines("GET /audit/verify", input)) show(changeOf(line));
      if (!seen.summary && seen.fault === undefined) {
        show({
          fault: t`The connection was interrupted. The remaining entries were not verified.`,
        });
      }
    } catch (error) {
      if (!own.signal.aborted) show({ fault: messageOf(error) });
    }
  }

  return (
    <section class="panel" aria-labelledby="verify-heading">
      <header class="panel-head">
        <h2 id="verify-heading">{t`Verify integrity`}</h2>
      </header>
      <p class="hint">
        {rich`Every entry is hashed again from its row, and every seal is compared and its \
signature checked, as ${COMMAND} does.`}
      </p>
      <button type="button" aria-busy={isRunning} onClick={() => void verify()}>
        <Icon name="audit" /> {t`Verify the log`}
      </button>
      <div role="status">{state !== undefined && <Outcome state={state} />}</div>
    </section>
  );
}

function changeOf(line: VerificationLine): Partial<Verifying> {
  if (line.event === "started") return { size: line.size };
  if (line.event === "progress") return { verified: line.verified };
  return { summary: line, verified: line.verified };
}

function Outcome({ state: { size, verified, summary, fault } }: { readonly state: Verifying }) {
  if (fault !== undefined) {
    return (
      <p class="alert">
        <Text>{fault}</Text>
      </p>
    );
  }
  if (summary === undefined) {
    return (
      <>
        <progress
          aria-label={t`Verified so far`}
          max={Math.max(size, 1)}
          value={Math.min(verified, size)}
        />
        <p class="hint">{t`${verified} of ${size}`}</p>
      </>
    );
  }
  if (summary.result === "good") return <Good summary={summary} />;
  if (summary.result === "stopped") {
    return (
      <p class="note">
        {t`Stopped after five minutes: the first ${verified} entries are valid, the others were \
not checked.`}{" "}
        {rich`Run ${COMMAND} on the server to check all.`}
      </p>
    );
  }
  return <Bad finding={summary.finding} />;
}

function Good({ summary: { verified, unsealed = 0 } }: { readonly summary: Summary }) {
  return (
    <p class="note good">
      <Icon name="check" />
      <span>
        <strong>{t`Good.`}</strong>{" "}
        {plural(verified, {
          one: "The one sealed entry is intact.",
          other: "All # sealed entries are intact.",
        })}
        {unsealed > 0 && ` ${unsealedWords(unsealed)}`}
      </span>
    </p>
  );
}

function unsealedWords(count: number): string {
  return plural(count, {
    one: "1 newer entry is not sealed yet.",
    other: "# newer entries are not sealed yet.",
  });
}

function Bad({ finding }: { readonly finding: Finding | undefined }) {
  const at = finding?.at;
  return (
    <div class="alert">
      <p>
        <strong>{t`Bad:`}</strong> <Text>{finding?.message ?? t`not what was sealed`}</Text>.
      </p>
      <p>
        {t`The first altered entry:`}{" "}
        {finding?.position === undefined
          ? t`position unknown`
          : t`position ${String(finding.position)}`}
        {finding?.kind !== undefined && (
          <>
            , <Text>{finding.kind}</Text>
          </>
        )}
        {at !== undefined && `, ${exactTime(typeof at === "number" ? at : Date.parse(at))}`}
        {finding?.id !== undefined && (
          <>
            {", "}
            <code>
              <Text>{finding.id}</Text>
            </code>
          </>
        )}
        .
      </p>
    </div>
  );
}
