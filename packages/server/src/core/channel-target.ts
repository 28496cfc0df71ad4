/**
 * Targets of channels, and what of them people may see.
 */

import type { ChannelTarget } from "./channel.ts";

/**
 * Enough to distinguish channels, and nothing that permits sending there: the host of a URL, the
 * first letter and the domain of an address.
 *
 * @param target one that was checked
 */
export function shownTarget(target: ChannelTarget): string {
  if (target.kind !== "email") return `https://${target.url.split("/")[2]}/...`;
  const [first = "", ...others] = target.to.map((address) => {
    return `${address.slice(0, 1)}...${address.slice(address.lastIndexOf("@"))}`;
  });
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
