/**
 * Messages between replicas, as text:
 *
 *   1 SENDER r:REQUEST t:PROJECT:REQUEST h:PROJECT:INSTANCE v:SCOPE:KEYHASH ...
 *   1 SENDER *
 *
 * The star means that the hints do not fit into one message: reread everything you wait for. Any
 * user of the database can send such a text, so it is parsed strictly, and it only causes a read of
 * the database.
 */

import type { Signal } from "./wake.ts";

export type WakeHint =
  | Extract<Signal, { readonly kind: "voted" | "retryRequested" | "verified" }>
  | ResolvedHint;

export interface ResolvedHint {
  readonly kind: "resolved";
  readonly requestId: string;
}

export interface ReplicaMessage {
  readonly sender: string;
  readonly hints: readonly WakeHint[] | "everything";
}

const FORMAT = "1";

export const ALL_HINTS = "*";

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const SENDER = new RegExp(`^${UUID}$`);
const RESOLVED = new RegExp(`^r:(${UUID})$`);
/** Hex; a UUID in older databases. */
const PROJECT = `[0-9a-f]{16}|${UUID}`;
const VOTED = new RegExp(`^t:(${PROJECT}):(${UUID})$`);
const RETRY_REQUESTED = new RegExp(`^h:(${PROJECT}):(${UUID})$`);
const VERIFIED = new RegExp(`^v:([a-z]{1,16}(?::${UUID}){1,2}):([A-Za-z0-9_-]{43})$`);

/**
 * @returns undefined for signals that other replicas do not need or find with their poll every
 * second. A removed receiver is checked before every attempt
 */
export function toHint(signal: Signal): string | undefined {
  switch (signal.kind) {
    case "removed":
    case "ended":
    case "frozen":
      return undefined;
    case "resolved":
      return `r:${signal.requestId}`;
    // Other replicas handle these alike: they reread the waiting request.
    case "opened":
    case "delayed":
    case "escalated":
    case "voted":
      return `t:${signal.projectId}:${signal.requestId}`;
    case "retryRequested":
      return `h:${signal.projectId}:${signal.instanceId}`;
    case "verified":
      return `v:${signal.scope}:${signal.keyHash}`;
  }
}

/** @param hints texts of {@link toHint}, or only the star */
export function toMessage(sender: string, hints: Iterable<string>): string {
  return [FORMAT, sender, ...hints].join(" ");
}

/** @returns undefined unless it is a replica's message in this format */
export function readMessage(message: string): ReplicaMessage | undefined {
  const [format, sender = "", ...texts] = message.split(" ");
  if (format !== FORMAT || !SENDER.test(sender) || texts.length === 0) return undefined;
  if (texts.length === 1 && texts[0] === ALL_HINTS) return { sender, hints: "everything" };
  const hints: WakeHint[] = [];
  for (const text of texts) {
    const hint = readHint(text);
    if (hint === undefined) return undefined;
    hints.push(hint);
  }
  return { sender, hints };
}

function readHint(text: string): WakeHint | undefined {
  const [, requestId] = RESOLVED.exec(text) ?? [];
  if (requestId !== undefined) return { kind: "resolved", requestId };
  const [, votedIn, votedOn] = VOTED.exec(text) ?? [];
  if (votedIn !== undefined && votedOn !== undefined) {
    return { kind: "voted", projectId: votedIn, requestId: votedOn };
  }
  const [, projectId, instanceId] = RETRY_REQUESTED.exec(text) ?? [];
  if (projectId !== undefined && instanceId !== undefined) {
    return { kind: "retryRequested", projectId, instanceId };
  }
  const [, scope, keyHash] = VERIFIED.exec(text) ?? [];
  if (scope === undefined || keyHash === undefined) return undefined;
  return { kind: "verified", scope, keyHash };
}
