/** Targets of channels, and the part of them that may be displayed. */

import type { ChannelTarget } from "./channel.ts";

/**
 * Distinguishes channels without permitting anyone to send there: the host of a URL, the id of a
 * conversation, or the first letter and the domain of an address.
 *
 * @param target a validated one
 */
export function shownTarget(target: ChannelTarget): string {
  if (target.kind === "slack_app") return `Slack channel ${target.slackChannel}`;
  if (target.kind === "telegram") return `Telegram chat ${target.conversation}`;
  if (target.kind === "discord") return `Discord channel ${target.conversation}`;
  if (target.kind === "mattermost") {
    return `${new URL(target.url).host}, channel ${target.conversation}`;
  }
  if (target.kind !== "email") return `https://${target.url.split("/")[2]}/...`;
  const [first = "", ...others] = target.to.map((address) => {
    return `${address.slice(0, 1)}...${address.slice(address.lastIndexOf("@"))}`;
  });
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
