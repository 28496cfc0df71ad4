/**
 * How a message to a channel or a browser went, as people read it.
 */

import { formatTimestamp } from "@countersign/protocol";
import {
  type LastSending,
  type SendOutcome,
  sendingStatus,
  sendingText,
} from "../../core/channel.ts";

export function toWireSending({ at, outcome, status }: LastSending): object {
  return { at: formatTimestamp(at), outcome, ...(status !== null && { status }) };
}

const REASONS: Readonly<Record<string, string>> = {
  dns: "The name could not be looked up.",
  connect: "Nobody answers there.",
  tls: "There is no TLS with a valid certificate for that name.",
  timeout: "There was no answer in time.",
  reset: "The connection ended before there was an answer.",
  auth: "The mail server did not accept the login of smtp_url.",
};

/** In fixed words: what the other side said is not for the reader. */
export function writeOutcome(outcome: SendOutcome): object {
  const status = sendingStatus(outcome);
  return {
    outcome: sendingText(outcome),
    ...(status !== null && { status }),
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
