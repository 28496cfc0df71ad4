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
  refused: "not sent: its address is not public",
  "unreachable:dns": "its name was not found",
  "unreachable:connect": "no connection",
  "unreachable:tls": "no trust in its certificate",
  "unreachable:timeout": "no answer in time",
  "unreachable:reset": "the connection broke off",
  "unreachable:stale": "broke off",
  "unreachable:protocol": "its answer was no HTTP",
  "unreachable:too_large": "its answer was too large",
  "unreachable:internal": "an error of this server",
};

/** What came of an attempt, like `answered 500`. */
export function attemptWords({ outcome, http_status: status }: DeliveryAttempt): string {
  if (outcome === "acknowledged") return `acknowledged with ${status ?? "2xx"}`;
  if (outcome === "rejected") return `answered ${status ?? "an error"}`;
  return OUTCOMES[outcome] ?? outcome;
}

/** Like `1,000+` where counting ended. */
export function countWords(count: number): string {
  return count >= 1_000 ? "1,000+" : String(count);
}
