/**
 * The policies that become active during a simulation.
 */

/** Every policy here approves this tool at once, unless its condition is false. */
export const APPROVED_TOOL = "read";
/** Every policy here asks two reviewers about this tool. */
export const QUORUM_TOOL = "deploy";
export const DENIED_TOOL = "drop";
/** The policies approve a limited number of calls of this tool. */
export const PENDING_TOOL = "write";

export const TOOLS = [APPROVED_TOOL, QUORUM_TOOL, DENIED_TOOL, PENDING_TOOL, PENDING_TOOL] as const;

/** @param number makes it another one than those before */
export function policyNumbered(number: number): string {
  return `version: 1
rules:
  - id: approved-${number}
    match: { tool: "${APPROVED_TOOL}" }
    when: "1 / args.n >= 0"
    then: approve
    valid_for: ${number + 10}s
  - id: two-people
    match: { tool: "${QUORUM_TOOL}" }
    then: ask
    ask: { quorum: 2 }
  - id: denied
    match: { tool: "${DENIED_TOOL}" }
    then: deny
`;
}
