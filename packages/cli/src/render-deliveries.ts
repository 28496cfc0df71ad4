/**
 * Deliveries for people: a card for one, a table for many, and what came of an attempt in words.
 */

import { type FixedColumn, renderTableOf } from "@countersign/command-line";
import type { Delivery, DeliveryAttempt } from "@countersign/review-api";
import { timeLeft } from "./render.ts";
import { visibleText } from "./visible-text.ts";

/** @param now the server's time, epoch ms */
export function renderDelivery(delivery: Delivery, now: number): string {
  const { instance, destination, last_attempt: last, gives_up_at: givesUpAt } = delivery;
  const rows = [
    `delivery   ${delivery.id}`,
    `request    ${delivery.request_id}, decided ${delivery.created_at}`,
    `instance   ${visibleText(instance.name)}  ${instance.id}`,
    `receiver   ${destination === null ? GONE : visibleText(destination)}`,
    `status     ${renderStatus(delivery, now)}`,
    `attempts   ${delivery.attempts}`,
  ];
  if (last !== undefined) rows.push(`last       ${last.at}, ${outcomeInWords(last)}`);
  if (delivery.ended_by === undefined)
    rows.push(`gives up   in ${timeLeft(givesUpAt, now)}, ${givesUpAt}`);
  return rows.join("\n");
}

const GONE = "gone";

function renderStatus(delivery: Delivery, now: number): string {
  const { status, next_attempt_at: nextAttemptAt, ended_at: endedAt } = delivery;
  const { ended_by: endedBy } = delivery;
  if (endedBy !== undefined) {
    const at = endedAt === undefined ? "" : ` at ${endedAt}`;
    return `ended${at}: ${endInWords(endedBy)}`;
  }
  if (status === "in_flight") return "an attempt is in progress";
  const next = nextIn(nextAttemptAt, now);
  return `${visibleText(status)}, next attempt ${next === "now" ? "due now" : `in ${next}`}`;
}

/** @returns `now` when it is due */
function nextIn(nextAttemptAt: string | undefined, now: number): string {
  const isLater = nextAttemptAt !== undefined && Date.parse(nextAttemptAt) > now;
  return isLater ? timeLeft(nextAttemptAt, now) : "now";
}

const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ["refused", "refused: the address is not public"],
  ["unreachable:dns", "the host name cannot be resolved"],
  ["unreachable:connect", "no connection"],
  ["unreachable:tls", "TLS failed"],
  ["unreachable:timeout", "no answer in time"],
  ["unreachable:reset", "the connection was closed"],
  ["unreachable:stale", "the connection was closed"],
  ["unreachable:protocol", "the answer was not HTTP"],
  ["unreachable:too_large", "the answer was too large"],
  ["unreachable:internal", "failed before it was sent; see the server's log"],
]);

/** The outcome of an attempt in words; an unknown outcome is returned unchanged. */
export function outcomeInWords({ outcome, http_status: status }: DeliveryAttempt): string {
  if (status !== undefined) {
    const redirect = status >= 300 && status <= 399 ? "; redirects are not followed" : "";
    return `the receiver answered ${status}${redirect}`;
  }
  return OUTCOMES.get(outcome) ?? visibleText(outcome);
}

const ENDS: ReadonlyMap<string, string> = new Map([
  ["acknowledged", "delivered"],
  ["window", "given up after 168h"],
  ["removal", "receiver removed"],
  ["deletion", "instance deleted"],
]);

function endInWords(endedBy: string): string {
  return ENDS.get(endedBy) ?? visibleText(endedBy);
}

const COLUMNS: readonly FixedColumn[] = [
  { head: "DELIVERY", width: 36 },
  { head: "NEXT", width: 19 },
  { head: "TRIES", width: 5 },
  { head: "INSTANCE", width: 18 },
  { head: "RECEIVER", width: 24 },
  { head: "LAST ATTEMPT", width: 28 },
];

/** @param columns width of the terminal; the last outcome fills what the other columns leave */
export function renderDeliveries(
  deliveries: readonly Delivery[],
  now: number,
  columns: number,
): string {
  const rows = deliveries.map((delivery) => {
    const { id, attempts, instance, destination, last_attempt: last } = delivery;
    const receiver = destination?.replace(/^https:\/\//, "") ?? GONE;
    const outcome = last === undefined ? "" : outcomeInWords(last);
    return [id, stateInShort(delivery, now), String(attempts), instance.name, receiver, outcome];
  });
  return renderTableOf(COLUMNS, rows, columns);
}

function stateInShort(delivery: Delivery, now: number): string {
  const { status, next_attempt_at: nextAttemptAt, ended_by: endedBy } = delivery;
  if (endedBy !== undefined) return endInWords(endedBy);
  if (status === "in_flight") return "sending";
  const next = nextIn(nextAttemptAt, now);
  return next === "now" ? next : `in ${next}`;
}
