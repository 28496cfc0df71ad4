/** Words for the state of a receiver and the outcome of an attempt. */

import type { DeliveryAttempt, Receiver } from "@countersign/review-api";

/** How the receiver of an instance does. */
export type Health = "none" | "good" | "waiting" | "failing";

export function healthOf(receiver: Receiver | null): Health {
  if (receiver === null) return "none";
  if (receiver.waiting === 0) return "good";
  const { last_attempt: last } = receiver;
  return last === undefined || last.outcome === "acknowledged" ? "waiting" : "failing";
}

const OUTCOMES: Readonly<Record<string, string>> = {
  refused: "not sent: the address is not public",
  "unreachable:dns": "the host name was not found",
  "unreachable:connect": "connection refused",
  "unreachable:tls": "the certificate is not trusted",
  "unreachable:timeout": "no answer in time",
  "unreachable:reset": "the connection was interrupted",
  "unreachable:stale": "interrupted",
  "unreachable:protocol": "the response was not valid HTTP",
  "unreachable:too_large": "the response was too large",
  "unreachable:internal": "an internal error of this server",
};

/** Outcome of an attempt, for example `answered 500`. */
export function attemptWords({ outcome, http_status: status }: DeliveryAttempt): string {
  if (outcome === "acknowledged") return `acknowledged with ${status ?? "2xx"}`;
  if (outcome === "rejected") return `answered ${status ?? "an error"}`;
  return OUTCOMES[outcome] ?? outcome;
}

/** Like `1,000+` where counting ended. */
export function countWords(count: number): string {
  return count >= 1_000 ? "1,000+" : String(count);
}
