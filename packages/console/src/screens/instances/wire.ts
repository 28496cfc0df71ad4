/** Words for the state of a receiver and the outcome of an attempt. */

import type { DeliveryAttempt, Receiver } from "@countersign/review-api";
import { formatNumber, t } from "../../language/t.ts";

/** How the receiver of an instance does. */
export type Health = "none" | "good" | "waiting" | "failing";

export function healthOf(receiver: Receiver | null): Health {
  if (receiver === null) return "none";
  if (receiver.waiting === 0) return "good";
  const { last_attempt: last } = receiver;
  return last === undefined || last.outcome === "acknowledged" ? "waiting" : "failing";
}

const OUTCOMES: Readonly<Record<string, string>> = {
  refused: t`not sent: the address is not public`,
  "unreachable:dns": t`the host name was not found`,
  "unreachable:connect": t`connection refused`,
  "unreachable:tls": t`the certificate is not trusted`,
  "unreachable:timeout": t`no answer in time`,
  "unreachable:reset": t`the connection was interrupted`,
  "unreachable:stale": t`interrupted`,
  "unreachable:protocol": t`the response was not valid HTTP`,
  "unreachable:too_large": t`the response was too large`,
  "unreachable:internal": t`an internal error of this server`,
};

/** Outcome of an attempt, for example `answered 500`. */
export function attemptWords({ outcome, http_status: status }: DeliveryAttempt): string {
  if (outcome === "acknowledged") return t`acknowledged with ${String(status ?? "2xx")}`;
  if (outcome === "rejected") return rejectedWords(status);
  return OUTCOMES[outcome] ?? outcome;
}

function rejectedWords(status: number | undefined): string {
  return status === undefined ? t`answered an error` : t`answered ${String(status)}`;
}

/** Like `1,000+` where counting ended. */
export function countWords(count: number): string {
  return count >= 1_000 ? `${formatNumber(1_000)}+` : String(count);
}
