/** Groups simulated changes by tool and change. */

import type { SimulatedChange } from "@countersign/review-api";
import { t } from "../../language/t.ts";

export interface ChangeGroup {
  readonly key: string;
  /** Like `ask to deny`. */
  readonly words: string;
  readonly first: SimulatedChange;
  readonly calls: readonly SimulatedChange[];
}

/** The largest groups first. */
export function groupChanges(changes: readonly SimulatedChange[]): readonly ChangeGroup[] {
  const groups = new Map<string, [SimulatedChange, ...SimulatedChange[]]>();
  for (const change of changes) {
    const { tool, server, was, would_be, differs } = change;
    const key = JSON.stringify([tool, server, was, would_be, differs]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [change]);
    else known.push(change);
  }
  return [...groups]
    .map(([key, calls]) => ({ key, words: changeWords(calls[0]), first: calls[0], calls }))
    .sort((a, b) => b.calls.length - a.calls.length);
}

const CHANGES: Readonly<Record<string, string>> = {
  "approve->ask": t`approve to ask`,
  "approve->deny": t`approve to deny`,
  "ask->approve": t`ask to approve`,
  "ask->deny": t`ask to deny`,
  "deny->approve": t`deny to approve`,
  "deny->ask": t`deny to ask`,
};

/** The parts of a requirement in words. */
const PARTS: Readonly<Record<string, string>> = {
  from: t`approvers`,
  quorum: t`number of approvers`,
  exclude: t`exclusion of the owner`,
  confirm: t`confirmation`,
  note: t`note`,
  within: t`time to decide`,
  grants: t`use of grants`,
  bots: t`approvals by bots`,
  valid_for: t`validity`,
  channels: t`places to approve`,
  escalate: t`escalation`,
};

function changeWords({ was, would_be, differs = [] }: SimulatedChange): string {
  const change = `${was}->${would_be}`;
  if (differs.length === 0) return CHANGES[change] ?? change;
  const parts = differs.map((part) => PARTS[part] ?? part).join(", ");
  return t`different approval: ${parts}`;
}
