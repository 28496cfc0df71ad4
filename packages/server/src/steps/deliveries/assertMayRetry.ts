import { Problem } from "@countersign/protocol";
import { allows } from "../../core/roles.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";

/**
 * Checks that a caller may retry deliveries.
 *
 * @throws Problem `forbidden`
 */
export function assertMayRetry(caller: ReviewerCaller): void {
  if (!allows(caller.role, "decide")) {
    throw new Problem("forbidden", "Your role can read deliveries but cannot retry them.");
  }
  assertMay(caller, "decide");
}
