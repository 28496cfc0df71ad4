/** Checks that the stored text of a policy was not altered in the database. */

import { Problem } from "@countersign/protocol";
import type { StoredProposal } from "../../storage/sql/policy/policy-proposals.ts";
import type { StoredPolicyVersion } from "../../storage/sql/policy/policy-versions.ts";

/**
 * Rejects a stored policy when its text does not match its SHA-256: it was altered in the database
 * after it was published or proposed.
 *
 * @throws Problem `policy_invalid`
 */
export function assertIntact(stored: StoredPolicyVersion | StoredProposal): void {
  if (stored.isIntact) return;
  throw new Problem("policy_invalid", alteredText(stored), { findings: [] });
}

export function alteredText(stored: StoredPolicyVersion | StoredProposal): string {
  const what = "number" in stored ? `version ${stored.number}` : `proposal ${stored.id}`;
  return (
    `The stored text of ${what} does not match its SHA-256 ${stored.sha256}: ` +
    "the database was changed. Publish the policy again from its source."
  );
}
