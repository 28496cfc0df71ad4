/** Reads JSON of chat platforms, and compares their secrets. */

import { timingSafeEqual } from "node:crypto";
import type { ChannelPost, SendOutcome } from "../core/channel.ts";
import { type ChatErrors, isConversationError, isMessageError } from "../core/chat-errors.ts";

/** @returns undefined when the bytes are not a JSON object */
export function readObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** An answer that is not valid for the platform. */
export const NOT_VALID: SendOutcome = { kind: "unreachable", reason: "protocol" };

/** An error that a platform returned. */
export interface ChatFailure {
  readonly status: number;
  /** Of the tables in chat-errors.ts. Undefined: the answer is not one of the platform. */
  readonly word: string | undefined;
  readonly retryAfterMs: number | undefined;
}

export function rejected({ status, word, retryAfterMs }: ChatFailure): SendOutcome {
  const reason = word === undefined ? {} : { reason: word };
  return { kind: "rejected", status, retryAfterMs, ...reason };
}

/**
 * The outcome of an update that failed. The server gives up a message that does not exist any more.
 * It also gives up a message in a conversation that the channel no longer uses, when that
 * conversation does not accept the update.
 */
export function updateFailure(
  errors: ChatErrors,
  failure: ChatFailure,
  { place }: ChannelPost,
  conversation: string,
): SendOutcome {
  const { word } = failure;
  if (word === undefined) return rejected(failure);
  const isLeft = place !== conversation && isConversationError(errors, word);
  return isMessageError(errors, word) || isLeft
    ? { kind: "gone", reason: word }
    : rejected(failure);
}

/** @param seconds a number of an answer */
export function toRetryMs(seconds: unknown): number | undefined {
  const isValid = typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0;
  return isValid ? Math.ceil(seconds * 1000) : undefined;
}

/** Compares secrets in constant time. */
export function isSameSecret(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
