/** The result of a message to a channel or a browser, in fixed words: no text of the receiver. */

import { formatTimestamp } from "@countersign/protocol";
import type { LastSending, TestOutcome } from "@countersign/review-api";
import {
  type SendOutcome,
  type LastSending as StoredSending,
  sendingStatus,
  sendingText,
} from "../../core/channel.ts";

export function toWireSending({ at, outcome, status }: StoredSending): LastSending {
  return { at: formatTimestamp(at), outcome, status: status ?? undefined };
}

const REASONS: Readonly<Record<string, string>> = {
  dns: "The name could not be looked up.",
  connect: "Nobody answers there.",
  tls: "There is no TLS with a valid certificate for that name.",
  timeout: "There was no answer in time.",
  reset: "The connection ended before there was an answer.",
  auth: "The mail server did not accept the login of smtp_url.",
};

export function toWireOutcome(outcome: SendOutcome): TestOutcome {
  return {
    outcome: sendingText(outcome),
    status: sendingStatus(outcome) ?? undefined,
    message: messageOf(outcome),
  };
}

function messageOf(outcome: SendOutcome): string {
  switch (outcome.kind) {
    case "sent":
      return `The message was taken with status ${outcome.status}.`;
    case "rejected":
      return `The message was answered with status ${outcome.status}.`;
    case "refused":
      return "That address is not public, or not one that this server may send to.";
    case "off":
      return "This server does not send messages of this kind.";
    case "unwanted":
      return "Nothing was sent; try again.";
    case "unreachable":
      return REASONS[outcome.reason] ?? "What answered is not what was expected.";
  }
}
