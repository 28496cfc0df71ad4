/**
 * Parses channel targets strictly, and returns the part that may be displayed. A Slack URL or an
 * ntfy topic is itself a secret.
 */

import { parseSigningSecret, type WebhookUrl } from "@countersign/protocol";
import type { ChannelTarget } from "../core/channel.ts";
import type { ChatTarget } from "../core/chat.ts";

/** A field of the target, and the end of a sentence that starts with it. */
export interface TargetFault {
  readonly field: string;
  readonly rule: string;
}

/** Parses a URL by the operator's rules; undefined when it is rejected. */
export type ParseUrl = (text: string) => WebhookUrl | undefined;

export const ADDRESSES_MAX = 20;

/** Every mail server accepts it, and it cannot be more than one address. */
const ADDRESS =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,253}$)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/;

const TOKEN = /^[\x21-\x7e]{1,200}$/;

/** A channel, a private channel or a conversation with one user. */
const SLACK_CHANNEL = /^[CGD][A-Z0-9]{7,30}$/;

export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text);
}

export function targetFault(
  target: Exclude<ChannelTarget, ChatTarget>,
  read: ParseUrl,
): TargetFault | undefined {
  if (target.kind === "email") return addressFault(target.to);
  const url = read(target.url);
  if (url === undefined) {
    return { field: "url", rule: "must be an https URL that this server may send to" };
  }
  if (target.kind === "ntfy") {
    if (!/^\/[A-Za-z0-9_-]{1,64}$/.test(url.path)) {
      return { field: "url", rule: "must be that of a topic, like https://ntfy.example/my-topic" };
    }
    if (target.token !== undefined && !TOKEN.test(target.token)) {
      return { field: "token", rule: "must be an access token of ntfy" };
    }
  }
  if (target.kind === "webhook" && parseSigningSecret(target.secret) === undefined) {
    return { field: "signing_secret", rule: "must be whsec_ and 32 bytes in base64" };
  }
  return undefined;
}

export function isSlackChannel(id: string): boolean {
  return SLACK_CHANNEL.test(id);
}

function addressFault(to: readonly string[]): TargetFault | undefined {
  if (to.length === 0 || to.length > ADDRESSES_MAX) {
    return { field: "to", rule: `must hold 1 to ${ADDRESSES_MAX} addresses` };
  }
  if (to.every(isMailAddress)) return undefined;
  return { field: "to", rule: "must hold addresses like ops@example.com" };
}
