/**
 * What stands between an agent and its tools. The hook itself is in `@countersign/adapters/hook`,
 * which loads as little as it can: it runs before every tool call.
 */

export { type Agent, AGENTS, findAgent } from "./agents.ts";
