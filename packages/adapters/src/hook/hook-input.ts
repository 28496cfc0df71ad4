/**
 * What an agent says of the call that it is about to run. Both agents say it in the same members.
 *
 * Called by: the hook. Promises: the arguments are the agent's own text, letter for letter; what
 * two parsers could read differently is refused.
 */

import { JsonObject, type JsonValue, Problem, parseJsonBytes } from "@countersign/protocol";
import type { Agent } from "../agents.ts";

export interface HookInput {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** The same for every time that this very call is asked about, another for every other. */
  readonly key: string;
  readonly context: JsonObject;
}

/** What no agent sends; beyond it nothing is kept. */
export const INPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Of ids; a key is made of two of them. */
const ID = /^[\x21-\x7e]{1,400}$/;

/** Members that say where and as whom the agent runs, as it spells them. */
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

/** What the agent said is not about a call that can be asked about. */
export class UnusableInput extends Error {}

/** @throws UnusableInput */
export function readHookInput(bytes: Uint8Array, agent: Agent): HookInput {
  if (bytes.length === 0) throw new UnusableInput("The agent said nothing about the call.");
  const input = parse(bytes);
  const event = input.members.get("hook_event_name");
  if (event !== "PreToolUse") {
    const named = typeof event === "string" ? JSON.stringify(event.slice(0, 80)) : "none";
    throw new UnusableInput(`The hook is for the event PreToolUse, and this event is ${named}.`);
  }
  const tool = input.members.get("tool_name");
  if (typeof tool !== "string" || tool === "") throw new UnusableInput("There is no tool_name.");
  const args = input.members.get("tool_input");
  if (!(args instanceof JsonObject)) throw new UnusableInput("tool_input is not a JSON object.");
  const session = idOf(input, "session_id", agent);
  const call = idOf(input, "tool_use_id", agent);
  return {
    tool,
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
    throw new UnusableInput(`What the agent said of the call cannot be read: ${error.message}`);
  }
  if (value instanceof JsonObject) return value;
  throw new UnusableInput("What the agent said of the call is not a JSON object.");
}

function idOf(input: JsonObject, name: string, { title }: Agent): string {
  const id = input.members.get(name);
  if (typeof id === "string" && ID.test(id)) return id;
  throw new UnusableInput(`${name} is missing or no id; a newer ${title} sends it.`);
}

/** Only strings: they are shown to people, and policy may go by them. */
function contextOf(input: JsonObject, agent: Agent, call: string): JsonObject {
  const given = CONTEXT.flatMap((name): [string, JsonValue][] => {
    const value = input.members.get(name);
    return typeof value === "string" ? [[name, value]] : [];
  });
  const members: [string, JsonValue][] = [["runtime", agent.name], ...given, ["call_id", call]];
  const written = members.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  return new JsonObject(new Map(members), `{${written.join(",")}}`);
}
