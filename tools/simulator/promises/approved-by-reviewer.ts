/** Checks that only reviewers, or a rule of policy, approve a request. */

import type { Row } from "../../../packages/server/src/storage/store.ts";
import type { Facts, Promised } from "../facts.ts";
import { APPROVED_TOOL } from "../policies.ts";

export const APPROVED_BY_REVIEWER: Promised = {
  id: "I12",
  says:
    "A request is approved only by its required number of reviewers, or by a rule that approves " +
    "it, and never while it is frozen. A failure approves nothing.",

  onCommit(facts, { changes }) {
    const { world } = facts;
    for (const { table, key, before, after } of changes) {
      if (table !== "request" || after === undefined || before?.status === after.status) continue;
      if (after.status === "denied") {
        world.assert(mayDeny(facts, after), "I12", () => `${after.decided_by} denied ${key}`);
      }
      if (after.status !== "approved") continue;
      world.assert(mayApprove(facts, after), "I12", () => `${after.decided_by} approved ${key}`);
      world.assert(!isFrozen(facts, after), "I12", () => `${key} was approved while frozen`);
    }
  },
};

function mayApprove({ approvals }: Facts, { id, tool, policy, decided_by: by }: Row): boolean {
  if (String(by).startsWith("policy:")) return tool === JSON.stringify(APPROVED_TOOL);
  const voters = approvals.get(String(id)) ?? new Set();
  // By the policy that was active when it came.
  const [, quorum = 1] = /"quorum":(\d+)/.exec(String(policy)) ?? [];
  return voters.has(String(by).replace("reviewer:", "")) && voters.size >= Number(quorum);
}

function mayDeny({ denials }: Facts, { id, decided_by: by }: Row): boolean {
  const [kind, who = ""] = String(by).split(":");
  if (kind === "policy" || kind === "freeze") return true;
  return kind === "reviewer" && (denials.get(String(id))?.has(who) ?? false);
}

function isFrozen({ snapshot }: Facts, { instance_id: instanceId }: Row): boolean {
  return snapshot.all("call_freeze").some((freeze) => {
    const covers = freeze.instance_id === instanceId || freeze.instance_id === "";
    return covers && freeze.lifted_at === null;
  });
}
