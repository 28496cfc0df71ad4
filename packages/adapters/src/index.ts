/**
 * What stands between an agent and its tools. The hook itself is in `@countersign/adapters/hook`,
 * which loads as little as it can: it runs before every tool call.
 */

export { AGENTS, type Agent, findAgent } from "./agents.ts";
