/**
 * The result of a message to a channel or browser, in fixed sentences without text of the receiver.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { LastSending, TestOutcome } from "@countersign/review-api";
import {
  type SendOutcome,
  type LastSending as StoredSending,
  sendingStatus,
  sendingText,
} from "../../core/channel.ts";
import { chatErrorText } from "../../core/chat-errors.ts";

export function toWireSending({ at, outcome, status }: StoredSending): LastSending {
  return { at: formatTimestamp(at), outcome, status: status ?? undefined };
}

const REASONS: Readonly<Record<string, string>> = {
  dns: "The host name could not be resolved.",
  connect: "The host did not accept the connection.",
  tls: "The host has no valid TLS certificate for its name.",
  timeout: "The host did not answer in time.",
  reset: "The connection closed before the host answered.",
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
      return `The receiver accepted the message with status ${outcome.status}.`;
    case "rejected":
      if (outcome.reason !== undefined) return chatErrorText(outcome.reason);
      return `The receiver rejected the message with status ${outcome.status}.`;
    case "gone":
      return chatErrorText(outcome.reason);
    case "refused":
      return "The address is not public, or this server may not send to it.";
    case "off":
      return "This server does not send messages of this kind.";
    case "unwanted":
      return "Nothing was sent; try again.";
    case "unreachable":
      return (
        REASONS[outcome.reason] ??
        "The response is not valid for this kind of channel. Check its URL."
      );
  }
}
