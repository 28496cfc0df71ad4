/**
 * The part of an id that an address shows. For `confirm: match` a reviewer copies the last
 * characters of the id from the agent's session, to prove that they read it there. The console must
 * not show these characters, so its addresses leave them out. Pure.
 */

import type { ReviewedRequest } from "@countersign/review-api";

/** The characters that the reviewer types. */
const CODE_CHARS = 4;
const HIDDEN = "-".repeat(CODE_CHARS);

export interface Addressed extends Pick<ReviewedRequest, "id" | "status"> {
  readonly requirement: {
    readonly confirm: Pick<ReviewedRequest["requirement"]["confirm"], "kind">;
  };
}

/** The id, or its visible part. */
export function addressOf({ id, status, requirement }: Addressed): string {
  if (status !== "pending" || requirement.confirm.kind !== "match") return id;
  return id.slice(0, -CODE_CHARS) + HIDDEN;
}

/** Whether an address leaves out a part of the id. */
export function isHidden(address: string): boolean {
  return address.endsWith(HIDDEN);
}
