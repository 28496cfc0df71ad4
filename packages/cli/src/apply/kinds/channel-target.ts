/**
 * Targets of channels. The server never returns a target. It shows a part of it, such as the host,
 * so a changed secret with the same host is not detected.
 */

import type { Channel } from "@countersign/review-api";
import type { ChannelTarget } from "@countersign/server/core/channel";
import { shownTarget } from "@countersign/server/core/channel-target";
import type { Document } from "../document.ts";
import type { PlanInput } from "../kind.ts";
import { describeSource, type SecretSource } from "../secrets.ts";
import type { ChannelSpec } from "./channel-schema.ts";

/** The members of a target in the API. */
interface TargetMembers {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly signing_secret?: string | undefined;
  readonly app_token?: string | undefined;
  readonly to?: string[] | undefined;
  readonly slack_channel?: string | undefined;
  readonly conversation?: string | undefined;
  readonly public_key?: string | undefined;
}

export interface ReadTarget {
  readonly members: TargetMembers;
  /** Descriptions of the secrets that are not there. */
  readonly missing: readonly string[];
}

export function readTarget(
  { readSecret }: PlanInput,
  { spec, placeOf }: Document<ChannelSpec>,
): ReadTarget {
  const missing: string[] = [];
  const read = (source: SecretSource | undefined): string | undefined => {
    if (source === undefined) return undefined;
    const value = readSecret(source, placeOf().file);
    if (value === undefined) missing.push(describeSource(source));
    return value;
  };
  const members = {
    url: spec.url ?? read(spec.url_from),
    token: read(spec.token_from),
    signing_secret: read(spec.signing_secret_from),
    app_token: read(spec.app_token_from),
    to: spec.to ?? splitAddresses(read(spec.to_from)),
    slack_channel: spec.slack_channel,
    conversation: spec.conversation,
    public_key: spec.public_key,
  };
  return { members, missing };
}

function splitAddresses(text: string | undefined): string[] | undefined {
  return text?.split(",").map((address) => address.trim());
}

/** @returns the target as the server shows it; undefined without a secret that it depends on */
export function describeTarget(
  { type, to_from, url_from }: ChannelSpec,
  { members }: ReadTarget,
): string | undefined {
  const { url, to, slack_channel: slackChannel, conversation } = members;
  if (to_from !== undefined && to === undefined) return undefined;
  if (url_from !== undefined && url === undefined) return undefined;
  if (url !== undefined && !URL.canParse(url)) return "an invalid URL";
  const href = url === undefined ? undefined : new URL(url).href;
  const target = { kind: type, url: href, to, slackChannel, conversation };
  return shownTarget(target as ChannelTarget);
}

/** The target of an export, with variables for what the server does not return. */
export function exportTarget({ name, kind, target }: Channel, nameVariable: NameVariable): object {
  const from = (member: string) => ({ [`${member}_from`]: { env: nameVariable(name, member) } });
  const shownId = target.split(" ").at(-1);
  switch (kind) {
    case "webhook":
      return { ...from("url"), ...from("signing_secret") };
    case "slack":
    case "teams":
    case "ntfy":
      return from("url");
    case "email":
      return from("to");
    case "slack_app":
      return { ...from("token"), slack_channel: shownId };
    case "telegram":
    case "discord":
      return { ...from("token"), conversation: shownId };
    case "mattermost":
      return { ...from("url"), ...from("token"), conversation: shownId };
  }
}

type NameVariable = (channel: string, member: string) => string;

/** Names variables like `CHANNEL_OPS_CHAT_URL`, with a number after a name that is taken. */
export function variableNamer(): NameVariable {
  const taken = new Set<string>();
  return (channel, member) => {
    const words = `channel_${channel}_${member}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
    let name = words;
    for (let number = 2; taken.has(name); number += 1) name = `${words}_${number}`;
    taken.add(name);
    return name;
  };
}
