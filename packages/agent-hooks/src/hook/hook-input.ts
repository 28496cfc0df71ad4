/**
 * The input of the hook: an agent's description of the call that it is about to run. Both agents
 * use the same members.
 *
 * Promises: the arguments are the agent's exact text. Input that two parsers could read differently
 * is rejected.
 */

import { JsonObject, type JsonValue, Problem, parseJsonBytes } from "@countersign/protocol";
import { splitToolName } from "@countersign/sdk";
import type { Agent } from "../agents.ts";

export interface HookInput {
  /** As the agent writes it, such as `Bash` or `mcp__memory__create_entities`. */
  readonly toolName: string;
  /** The tool's own name. */
  readonly tool: string;
  /** The MCP server of the tool. */
  readonly server?: string;
  readonly arguments: JsonObject;
  /** Identical for each attempt of one call, different for every other call. */
  readonly key: string;
  readonly context: JsonObject;
}

/** Far above what an agent sends. Larger input is not kept. */
export const INPUT_BYTES_MAX = 16 * 1024 * 1024;

/** An id. A key consists of two of them. */
const ID = /^[\x21-\x7e]{1,400}$/;

/** Members of the input about the session, with the agent's names. */
const CONTEXT = [
  "session_id",
  "cwd",
  "permission_mode",
  "model",
  "agent_id",
  "agent_type",
  "turn_id",
  "prompt_id",
];

/** The input does not describe a call that can be submitted. */
export class UnusableInput extends Error {}

/** @throws UnusableInput */
export function readHookInput(bytes: Uint8Array, agent: Agent): HookInput {
  if (bytes.length === 0) throw new UnusableInput("The agent sent no input.");
  const input = parse(bytes);
  const event = input.members.get("hook_event_name");
  if (event !== "PreToolUse") {
    const named = typeof event === "string" ? JSON.stringify(event.slice(0, 80)) : "none";
    throw new UnusableInput(`The hook is for the event PreToolUse, and this event is ${named}.`);
  }
  const toolName = input.members.get("tool_name");
  if (typeof toolName !== "string" || toolName === "") {
    throw new UnusableInput("There is no tool_name.");
  }
  const args = input.members.get("tool_input");
  if (!(args instanceof JsonObject)) throw new UnusableInput("tool_input is not a JSON object.");
  const session = idOf(input, "session_id", agent);
  const call = idOf(input, "tool_use_id", agent);
  return {
    toolName,
    ...splitToolName(toolName),
    arguments: args,
    key: `${agent.name} ${session} ${call}`,
    context: contextOf(input, agent, call),
  };
}

function parse(bytes: Uint8Array): JsonObject {
  let value: JsonValue;
  try {
    value = parseJsonBytes(bytes);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new UnusableInput(`The input of the agent is not valid: ${error.message}`);
  }
  if (value instanceof JsonObject) return value;
  throw new UnusableInput("The input of the agent is not a JSON object.");
}

function idOf(input: JsonObject, name: string, { title }: Agent): string {
  const id = input.members.get(name);
  if (typeof id === "string" && ID.test(id)) return id;
  throw new UnusableInput(`${name} is missing or not an id. Upgrade ${title}.`);
}

/** Only strings: reviewers see them and policies can use them. */
function contextOf(input: JsonObject, agent: Agent, call: string): JsonObject {
  const contextMembers = CONTEXT.flatMap((name): [string, JsonValue][] => {
    const value = input.members.get(name);
    return typeof value === "string" ? [[name, value]] : [];
  });
  const members: [string, JsonValue][] = [
    ["runtime", agent.name],
    ...contextMembers,
    ["call_id", call],
  ];
  const written = members.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  return new JsonObject(new Map(members), `{${written.join(",")}}`);
}
