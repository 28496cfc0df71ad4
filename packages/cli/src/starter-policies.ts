/**
 * Policies that a new project can start with: those of examples/policies that name no group of
 * reviewers, because a new project has one reviewer.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface StarterPolicy {
  readonly name: string;
  readonly description: string;
  /** Group that its rules name. The new agent joins it. */
  readonly agentGroup?: string;
}

/** The choice that publishes nothing: without a policy, a reviewer decides every call. */
export const ASK_ALWAYS = "ask";

export const STARTER_POLICIES: readonly StarterPolicy[] = [
  { name: ASK_ALWAYS, description: "A reviewer decides every call." },
  { name: "coding-agent", description: "Claude Code and similar agents on one checkout." },
  {
    name: "mcp-gateway",
    description: "Tools of MCP servers, by name.",
    agentGroup: "mcp-clients",
  },
];

/** @param name of a starter policy other than ASK_ALWAYS */
export function readStarterPolicy(name: string): string {
  const file = `${name}.yaml`;
  // A published package contains a copy. The repository has the original.
  const copy = join(import.meta.dirname, "policies", file);
  const original = join(import.meta.dirname, "../../../examples/policies", file);
  return readFileSync(existsSync(copy) ? copy : original, "utf8");
}
