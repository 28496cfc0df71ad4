/**
 * Who may call what of policies and of the floor: rows of authorization-table.ts.
 */

import type { AuthorizationStage } from "./authorization-callers.ts";
import {
  type AuthorizationRow,
  LOOKING,
  OPERATING,
  PUBLISHING,
  whoever,
  without,
} from "./authorization-profiles.ts";

const EMPTY_POLICY = "version: 1\nrules: []\n";

const draft = () => ({ source: EMPTY_POLICY });

export function policyRows(scope: "Policy" | "Floor"): readonly AuthorizationRow[] {
  const who = scope === "Policy" ? PUBLISHING : OPERATING;
  const checking = scope === "Policy" ? whoever(...LOOKING, ...PUBLISHING) : OPERATING;
  return [
    { operation: `show${scope}`, who: LOOKING, status: 200 },
    {
      operation: `show${scope}Version`,
      who: LOOKING,
      status: 200,
      id: () => "1",
      ...(scope === "Policy" && { foreign: 404 }),
    },
    { operation: `list${scope}Versions`, who: LOOKING, status: 200 },
    { operation: `check${scope}`, who: checking, status: 200, body: draft },
    {
      // What it tells are calls.
      operation: `simulate${scope}`,
      who: without(who, "policy"),
      status: 200,
      body: draft,
    },
    {
      operation: `publish${scope}`,
      who,
      status: 200,
      ...(scope === "Policy" && FOREIGN_NEW),
      body: () => ({ ...draft(), expected_number: 0 }),
    },
    {
      operation: `rollback${scope}`,
      who,
      status: 200,
      body: () => ({ number: 1, expected_number: 1 }),
    },
    ...proposalRows(scope, who),
  ];
}

function proposalRows(
  scope: "Policy" | "Floor",
  who: AuthorizationRow["who"],
): readonly AuthorizationRow[] {
  const foreign = scope === "Policy" ? { foreign: 404 } : {};
  const id = (stage: AuthorizationStage) => stage.freshProposal(scope);
  return [
    { operation: `list${scope}Proposals`, who: LOOKING, status: 200 },
    { operation: `show${scope}Proposal`, who: LOOKING, status: 200, id, ...foreign },
    {
      operation: `propose${scope}`,
      who,
      status: 201,
      body: (stage) => ({ source: `${EMPTY_POLICY}# ${stage.freshName()}`, expected_number: 1 }),
    },
    {
      operation: `publish${scope}Proposal`,
      who,
      status: 201,
      id,
      ...foreign,
      undo: (stage) => stage.unpublish(scope),
    },
    {
      operation: `reject${scope}Proposal`,
      who,
      status: 200,
      id,
      body: () => ({}),
      ...foreign,
    },
  ];
}

/** Of the other project it is the first version. */
const FOREIGN_NEW = { foreign: 201 };
