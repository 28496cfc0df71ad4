/** Information from earlier calls. */

import { visibleText } from "@countersign/protocol";
import type { Background, ReviewedRequest } from "@countersign/review-api";
import { Fragment } from "preact";
import { useMemo } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { When } from "../../parts/when.tsx";
import { pathDiff } from "../../previews/path-diff.ts";
import { href } from "../../route.ts";
import { Time } from "./facts.tsx";
import { parseArguments } from "./previews.tsx";
import type { ShownBackground } from "./use-background.ts";

/** Readable words for "reviewer:ID" and others. */
const BY: Readonly<Record<string, string>> = {
  reviewer: t`by a reviewer`,
  grant: t`by a grant`,
  freeze: t`by a freeze`,
  instance: t`by the agent`,
  system: t`by the server`,
};

/** @param name of the reviewer */
function byWhom(by: string, name: string | undefined): string {
  if (name !== undefined) return t`by ${name}`;
  const [kind = "", ...rest] = by.split(":");
  if (kind === "policy") return t`by the rule ${rest.join(":")}`;
  return BY[kind] ?? t`by ${kind}`;
}

export function DeniedBefore({ before }: { readonly before: Background["denied_before"] }) {
  if (before === null) return null;
  return (
    <section class="again" id="asked-again" aria-label={t`Requested again`}>
      <p>
        <strong>{t`The same call was denied before.`}</strong>{" "}
        {t`The agent requests it again, with the same arguments.`} <EarlierDenial before={before} />
      </p>
      {before.note !== undefined && (
        <blockquote>
          <Text>{before.note}</Text>
        </blockquote>
      )}
    </section>
  );
}

function EarlierDenial({ before }: { readonly before: NonNullable<Background["denied_before"]> }) {
  const link = <a href={href(`/inbox/${before.id}`)}>{t`Open that request`}</a>;
  const by = <Text>{byWhom(before.decided_by, before.decider)}</Text>;
  return rich`${link}: denied ${<When at={before.decided_at} />} ${by}.`;
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
        <h2 id="difference-title">{t`Changes since the last approved call`}</h2>
        <p class="faint">{t`This is the first approval of this tool for this instance.`}</p>
      </section>
    );
  }
  if (differences === undefined) return null;
  return (
    <section class="panel preview" id="difference" aria-labelledby="difference-title">
      <header class="panel-head">
        <h2 id="difference-title">{t`Changes since the last approved call`}</h2>
        <span class="hint">
          <ComparedWith last={last} />
        </span>
      </header>
      {differences.length === 0 ? (
        <p>{t`The arguments are identical.`}</p>
      ) : (
        <table class="paths">
          <thead>
            <tr>
              <th scope="col">{t`Where`}</th>
              <th scope="col">{t`Then`}</th>
              <th scope="col">{t`Now`}</th>
            </tr>
          </thead>
          <tbody>
            {differences.slice(0, DIFFERENCES_MAX).map(({ path, before, after }) => (
              <tr key={path}>
                <th scope="row">
                  <code>
                    <Text>{path === "" ? t`everything` : clipped(path)}</Text>
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
          {plural(differences.length - DIFFERENCES_MAX, {
            one: "And 1 more difference.",
            other: "And # more differences.",
          })}
        </p>
      )}
    </section>
  );
}

interface ComparedWithProps {
  readonly last: NonNullable<Background["last_approved"]>;
}

function ComparedWith({ last }: ComparedWithProps) {
  const words = rich`call approved ${<When at={last.decided_at} />}`;
  return rich`compared with the ${<a href={href(`/inbox/${last.id}`)}>{words}</a>}`;
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
        <span class="faint">{t`nothing`}</span>
      </td>
    );
  }
  const rest = text.length - VALUE_CHARS_MAX;
  return (
    <td class={kind}>
      <code>
        <Text>{clipped(text)}</Text>
      </code>
      {rest > 0 && (
        <span class="hint">
          {plural(rest, {
            one: " and 1 more character",
            other: " and # more characters",
          })}
        </span>
      )}
    </td>
  );
}

export interface SimilarProps extends Pick<Background, "similar"> {
  readonly request: Pick<ReviewedRequest, "tool" | "server" | "instance">;
}

const RESOLVED = ["approved", "denied", "expired", "cancelled"] as const;

export function Similar({ similar, request }: SimilarProps) {
  return (
    <section class="panel" id="similar" aria-labelledby="similar-title">
      <h2 id="similar-title">{t`Similar decisions`}</h2>
      <p>
        <SimilarWords similar={similar} request={request} />
      </p>
    </section>
  );
}

function SimilarWords({ similar, request }: SimilarProps) {
  const { approved, denied, expired, cancelled, pending, since, complete } = similar;
  const start = <Time at={since} />;
  if (approved + denied + expired + cancelled + pending === 0) {
    return complete
      ? t`First call of this tool by this instance in the last 30 days.`
      : rich`First call of this tool by this instance since ${start}.`;
  }
  const counts = <SimilarCounts similar={similar} request={request} />;
  return complete
    ? rich`Earlier calls of this tool by this instance: ${counts} in the last 30 days.`
    : rich`Earlier calls of this tool by this instance: ${counts} since ${start}.`;
}

function SimilarCounts({ similar, request }: SimilarProps) {
  const shown = RESOLVED.filter((status, index) => index < 2 || similar[status] > 0);
  return (
    <>
      {shown.map((status, index) => (
        <Fragment key={status}>
          {index > 0 && ", "}
          <SimilarCount status={status} similar={similar} request={request} />
        </Fragment>
      ))}
      {similar.pending > 0 && `, ${t`${similar.pending} still pending`}`}
    </>
  );
}

const COUNTS: Readonly<Record<(typeof RESOLVED)[number], (count: number) => string>> = {
  approved: (count) => t`${count} approved`,
  denied: (count) => t`${count} denied`,
  expired: (count) => t`${count} expired`,
  cancelled: (count) => t`${count} cancelled`,
};

interface SimilarCountProps extends SimilarProps {
  readonly status: (typeof RESOLVED)[number];
}

/** Links to the rows. The history reads a star at the end of a tool as "starts with". */
function SimilarCount({ status, similar, request }: SimilarCountProps) {
  const text = COUNTS[status](similar[status]);
  const { tool, server, instance } = request;
  if (similar[status] === 0 || tool.endsWith("*")) return text;
  const query = new URLSearchParams({
    tool,
    instance: instance.id,
    status,
    from: similar.since,
    ...(server !== undefined && { server }),
  });
  return <a href={href(`/history?${query}`)}>{text}</a>;
}

const KINDS: Readonly<Record<string, string>> = {
  "request.opened": t`Submitted`,
  "request.escalated": t`Escalated`,
  "vote.cast": t`Approval recorded`,
  "vote.withdrawn": t`Approval withdrawn`,
  "request.claimed": t`Claimed`,
  "request.released": t`Claim released`,
  "request.handed_over": t`Claim handed over`,
  "request.commented": t`Comment added`,
  "verdict.held": t`Verdict scheduled`,
  "verdict.taken_back": t`Scheduled verdict undone`,
  "verdict.cast": t`Scheduled verdict took effect`,
  "verdict.lapsed": t`Scheduled verdict expired`,
  "confirmation.missed": t`Wrong confirmation`,
  "request.resolved": t`Resolved`,
  "approval.consumed": t`The approval was used`,
  "delivery.hurried": t`Delivery retried`,
  "delivery.acknowledged": t`The agent was notified`,
  "delivery.ended": t`Delivery to the agent stopped`,
};

/** Of the requests, and of the outcomes that agents report. */
const STATUSES: Readonly<Record<string, string>> = {
  approved: t`approved`,
  denied: t`denied`,
  expired: t`expired`,
  cancelled: t`cancelled`,
};

const REPORTS: Readonly<Record<string, string>> = {
  succeeded: t`The agent reports that the call succeeded`,
  failed: t`The agent reports that the call failed`,
};

type Event = Background["timeline"][number];

function wordsOfEvent({ kind, status }: Event): string {
  if (kind === "outcome.reported") return REPORTS[status ?? ""] ?? t`The agent reports an outcome`;
  const words = KINDS[kind] ?? kind;
  return status === undefined ? words : `${words}: ${STATUSES[status] ?? status}`;
}

export function Timeline({ timeline }: Pick<Background, "timeline">) {
  return (
    <section class="panel" id="timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title">{t`Timeline`}</h2>
      <ol class="timeline">
        {timeline.map((event, index) => (
          <TimelineItem key={index} event={event} />
        ))}
      </ol>
    </section>
  );
}

function TimelineItem({ event }: { readonly event: Event }) {
  const { at, by, name, reason, note } = event;
  return (
    <li>
      <Time at={at} />
      <span>
        {visibleText(wordsOfEvent(event))}
        {note !== undefined && <>: {rich`“${<Text>{note}</Text>}”`}</>}
        {reason !== undefined && (
          <>
            : <Text>{reason}</Text>
          </>
        )}
        <span class="faint">
          , <Text>{byWhom(by, name)}</Text>
        </span>
      </span>
    </li>
  );
}
