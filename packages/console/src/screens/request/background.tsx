/** Information from earlier calls. */

import { visibleText } from "@countersign/protocol";
import type { Background } from "@countersign/review-api";
import { useMemo } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { pathDiff } from "../../previews/path-diff.ts";
import * as words from "../../requests/words.ts";
import { href } from "../../route.ts";
import { now } from "../../time.ts";
import { Time } from "./facts.tsx";
import { parseArguments } from "./previews.tsx";
import type { ShownBackground } from "./use-background.ts";

/** Readable words for "reviewer:ID" and others. */
const BY: Readonly<Record<string, string>> = {
  reviewer: "a reviewer",
  policy: "policy",
  grant: "a grant",
  freeze: "a freeze",
  instance: "the agent",
  system: "the server",
};

function byWhom(by: string): string {
  const [kind = "", ...rest] = by.split(":");
  if (kind === "policy") return `the rule ${rest.join(":")}`;
  return BY[kind] ?? kind;
}

export function DeniedBefore({ before }: { readonly before: Background["denied_before"] }) {
  if (before === null) return null;
  return (
    <section class="again" id="asked-again" aria-label="Requested again">
      <p>
        <strong>The same call was denied before.</strong> The agent requests it again, with the same
        arguments. <a href={href(`/inbox/${before.id}`)}>Open that request</a>: denied{" "}
        <time dateTime={before.decided_at}>
          {words.timeAgo(now.value - Date.parse(before.decided_at))}
        </time>{" "}
        by <Text>{byWhom(before.decided_by)}</Text>.
      </p>
      {before.note !== undefined && (
        <blockquote>
          <Text>{before.note}</Text>
        </blockquote>
      )}
    </section>
  );
}

const DIFFERENCES_MAX = 100;
const VALUE_CHARS_MAX = 2_000;

export interface DifferenceProps {
  readonly background: ShownBackground;
  readonly argumentsText: string;
}

/** From the last call of the same tool by the same instance that was approved. */
export function Difference({ background, argumentsText }: DifferenceProps) {
  const { last_approved: last, lastArguments } = background;
  const differences = useMemo(() => {
    if (lastArguments === undefined) return undefined;
    const before = parseArguments(lastArguments);
    const after = parseArguments(argumentsText);
    return before === undefined || after === undefined ? undefined : pathDiff(before, after);
  }, [lastArguments, argumentsText]);
  if (last === null) {
    return (
      <section class="panel" aria-labelledby="difference-title">
        <h2 id="difference-title">Changes since the last approved call</h2>
        <p class="faint">This is the first approval of this tool for this instance.</p>
      </section>
    );
  }
  if (differences === undefined) return null;
  return (
    <section class="panel preview" id="difference" aria-labelledby="difference-title">
      <header class="panel-head">
        <h2 id="difference-title">Changes since the last approved call</h2>
        <span class="hint">
          compared with the{" "}
          <a href={href(`/inbox/${last.id}`)}>
            call approved {words.timeAgo(now.value - Date.parse(last.decided_at))}
          </a>
        </span>
      </header>
      {differences.length === 0 ? (
        <p>The arguments are identical.</p>
      ) : (
        <table class="paths">
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">Then</th>
              <th scope="col">Now</th>
            </tr>
          </thead>
          <tbody>
            {differences.slice(0, DIFFERENCES_MAX).map(({ path, before, after }) => (
              <tr key={path}>
                <th scope="row">
                  <code>
                    <Text>{path === "" ? "everything" : clipped(path)}</Text>
                  </code>
                  {path.length > VALUE_CHARS_MAX && "…"}
                </th>
                <Value text={before} kind="removed" />
                <Value text={after} kind="added" />
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {differences.length > DIFFERENCES_MAX && (
        <p class="hint">
          And {(differences.length - DIFFERENCES_MAX).toLocaleString()} more differences.
        </p>
      )}
    </section>
  );
}

/** Never ends with half a character. */
function clipped(text: string): string {
  return text.slice(0, VALUE_CHARS_MAX).toWellFormed();
}

interface ValueProps {
  readonly text: string | undefined;
  readonly kind: "removed" | "added";
}

function Value({ text, kind }: ValueProps) {
  if (text === undefined) {
    return (
      <td class="nothing">
        <span class="faint">nothing</span>
      </td>
    );
  }
  const rest = text.length - VALUE_CHARS_MAX;
  return (
    <td class={kind}>
      <code>
        <Text>{clipped(text)}</Text>
      </code>
      {rest > 0 && <span class="hint"> and {rest.toLocaleString()} more characters</span>}
    </td>
  );
}

export function Similar({ similar }: Pick<Background, "similar">) {
  const counts = [
    `${similar.approved} approved`,
    `${similar.denied} denied`,
    ...(similar.expired > 0 ? [`${similar.expired} expired`] : []),
    ...(similar.cancelled > 0 ? [`${similar.cancelled} cancelled`] : []),
    ...(similar.pending > 0 ? [`${similar.pending} still pending`] : []),
  ];
  const total = similar.approved + similar.denied + similar.expired + similar.cancelled;
  return (
    <section class="panel" id="similar" aria-labelledby="similar-title">
      <h2 id="similar-title">Similar decisions</h2>
      <p>
        {total + similar.pending === 0
          ? "First call of this tool by this instance"
          : `Earlier calls of this tool by this instance: ${counts.join(", ")}`}
        {similar.complete ? (
          " in the last 30 days."
        ) : (
          <>
            {" "}
            since <Time at={similar.since} />.
          </>
        )}
      </p>
    </section>
  );
}

const KINDS: Readonly<Record<string, string>> = {
  "request.opened": "Submitted",
  "request.escalated": "Escalated",
  "vote.cast": "Approval recorded",
  "vote.withdrawn": "Approval withdrawn",
  "request.claimed": "Claimed",
  "request.released": "Claim released",
  "verdict.held": "Verdict scheduled",
  "verdict.taken_back": "Scheduled verdict undone",
  "verdict.cast": "Scheduled verdict took effect",
  "verdict.lapsed": "Scheduled verdict expired",
  "confirmation.missed": "Wrong confirmation",
  "request.resolved": "Resolved",
  "approval.consumed": "The approval was used",
  "outcome.reported": "The agent reports that the call",
  "delivery.hurried": "Delivery retried",
  "delivery.acknowledged": "The agent was notified",
  "delivery.ended": "Delivery to the agent stopped",
};

export function Timeline({ timeline }: Pick<Background, "timeline">) {
  return (
    <section class="panel" id="timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title">Timeline</h2>
      <ol class="timeline">
        {timeline.map(({ at, kind, by, name, status, reason, note }, index) => (
          <li key={index}>
            <Time at={at} />
            <span>
              {visibleText(KINDS[kind] ?? kind)}
              {status !== undefined && (kind === "outcome.reported" ? ` ${status}` : `: ${status}`)}
              {note !== undefined && (
                <>
                  : “<Text>{note}</Text>”
                </>
              )}
              {reason !== undefined && (
                <>
                  : <Text>{reason}</Text>
                </>
              )}
              <span class="faint">
                , by <Text>{name ?? byWhom(by)}</Text>
              </span>
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
