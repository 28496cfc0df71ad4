/** Policies that a new project can start with: the project policies of examples/policies. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface StarterPolicy {
  readonly name: string;
  readonly description: string;
  /** Group of agents that its rules name. The new agent joins it. */
  readonly agentGroup?: string;
  /** Groups of reviewers that its rules name. The only reviewer joins them. */
  readonly reviewerGroups: readonly string[];
}

/** The choice that publishes nothing: without a policy, a reviewer decides every call. */
export const ASK_ALWAYS: StarterPolicy = {
  name: "ask",
  description: "A reviewer decides every call.",
  reviewerGroups: [],
};

export const STARTER_POLICIES: readonly StarterPolicy[] = [
  ASK_ALWAYS,
  {
    name: "coding-agent",
    description: "Claude Code and similar agents on one checkout.",
    reviewerGroups: [],
  },
  {
    name: "mcp-gateway",
    description: "Tools of MCP servers, by name.",
    agentGroup: "mcp-clients",
    reviewerGroups: [],
  },
  {
    name: "support-agent",
    description: "Tickets and refunds. Large refunds need two reviewers.",
    agentGroup: "support-bots",
    reviewerGroups: ["finance", "privacy"],
  },
  {
    name: "database-operator",
    description: "SQL databases. Changes in production need two reviewers.",
    agentGroup: "database-operators",
    reviewerGroups: ["dba"],
  },
];

/** @param name of a starter policy other than that of ASK_ALWAYS */
export function readStarterPolicy(name: string): string {
  const file = `${name}.yaml`;
  // A published package contains a copy. The repository has the original.
  const copy = join(import.meta.dirname, "policies", file);
  const original = join(import.meta.dirname, "../../../examples/policies", file);
  return readFileSync(existsSync(copy) ? copy : original, "utf8");
}
