/**
 * The coding agents that Countersign supports, as data: events, input, answers and settings of
 * their hooks. The command of a hook and the server's endpoint for hooks share it.
 */

export * from "./agent.ts";
export * from "./all-agents.ts";
export * from "./canary-call.ts";
export { CLAUDE_CODE } from "./claude-code.ts";
export { CODEX } from "./codex.ts";
export * from "./hook-input.ts";
export { OPENCLAW } from "./openclaw.ts";
export { OPENCODE } from "./opencode.ts";
export { DENIED_FOR_ANY_AGENT, SILENT } from "./outputs.ts";
export { PI } from "./pi.ts";
