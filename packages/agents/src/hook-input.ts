/**
 * The input of the hook: an agent's description of the call that it is about to run.
 *
 * Promises: the arguments are the agent's exact text. Input that two parsers could read differently
 * is rejected.
 */

import { randomUUID } from "node:crypto";
import {
  JsonObject,
  type JsonValue,
  Problem,
  parseJson,
  parseJsonBytes,
  type ToolIdentity,
} from "@countersign/protocol";
import type { Agent, CallFormat, HookEvent } from "./agent.ts";
import { eventsOf } from "./all-agents.ts";
import { canaryKeyOf } from "./canary-call.ts";

export interface HookInput {
  readonly event: HookEvent;
  /** True if the agent would ask its own user now. */
  readonly isPrompt: boolean;
  /** As the agent writes it, such as `Bash` or `mcp__memory__create_entities`. */
  readonly toolName: string;
  /** The tool's own name. */
  readonly tool: string;
  /** The MCP server of the tool. */
  readonly server?: string;
  readonly arguments: JsonObject;
  /**
   * Identical for each attempt of one call, different for every other call. An agent that sends no
   * ids starts the hook once for each call, so each input has a new key.
   */
  readonly key: string;
  readonly context: JsonObject;
}

/** Far above what an agent sends. Larger input is not kept. */
export const INPUT_BYTES_MAX = 16 * 1024 * 1024;

/** An id. A key consists of two of them. */
const ID = /^[\x21-\x7e]{1,400}$/;

/** The input does not describe a call that can be submitted. */
export class UnusableInput extends Error {}

/** @throws UnusableInput */
export function readHookInput(bytes: Uint8Array, agent: Agent): HookInput {
  if (bytes.length === 0) throw new UnusableInput("The agent sent no input.");
  const input = parseObject(() => parseJsonBytes(withoutMark(bytes)), "The input of the agent");
  const event = eventOf(input, agent);
  const { call, session } = agent.input;
  // The agent sends the id of a call only with the events of calls.
  const isPrompt = event === agent.promptEvent;
  const hasId = call !== undefined && session !== undefined && !isPrompt;
  const tool = toolOf(input, event.call);
  const args = argumentsOf(input, event.call);
  const ids = hasId
    ? [idOf(input, session, agent), idOf(input, call, agent)]
    : [canaryKeyOf(tool.tool, args) ?? randomUUID()];
  return {
    event,
    isPrompt,
    ...tool,
    arguments: args,
    key: [agent.name, ...ids].join(" "),
    context: contextOf(input, agent, hasId ? ids[1] : undefined),
  };
}

/** The agent that sent the input, if it is another one: it reads the settings of `agent`. */
export function foreignAgent(bytes: Uint8Array, { input: { foreign } }: Agent): string | undefined {
  try {
    const input = parseJsonBytes(withoutMark(bytes));
    if (!(input instanceof JsonObject)) return undefined;
    const member = Object.keys(foreign).find((name) => input.members.has(name));
    return member === undefined ? undefined : foreign[member];
  } catch {
    return undefined;
  }
}

/** Cursor on Windows writes a byte order mark before the JSON. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  const [first, second, third] = bytes;
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
}

function eventOf(input: JsonObject, agent: Agent): HookEvent {
  const { event: path } = agent.input;
  const [only] = agent.events;
  if (path === undefined) return only;
  const events = eventsOf(agent);
  const name = memberAt(input, path);
  const event = events.find((each) => each.name === name);
  if (event !== undefined) return event;
  const named = typeof name === "string" ? JSON.stringify(name.slice(0, 80)) : "none";
  const names = events.map((each) => each.name).join(" and ");
  throw new UnusableInput(`The hook is for the event ${names}, and this event is ${named}.`);
}

function toolOf(input: JsonObject, call: CallFormat): ToolIdentity & { readonly toolName: string } {
  const path = "path" in call.tool ? call.tool.path : undefined;
  const toolName = "name" in call.tool ? call.tool.name : memberAt(input, call.tool.path);
  if (!isName(toolName)) throw new UnusableInput(`There is no ${path}.`);
  const server = call.mcp === undefined ? undefined : memberAt(input, call.mcp.server);
  const tool = call.mcp === undefined ? undefined : memberAt(input, call.mcp.tool);
  if (isName(server) && isName(tool)) return { toolName, tool, server };
  return { toolName, ...call.split(toolName) };
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function argumentsOf(input: JsonObject, call: CallFormat): JsonObject {
  const value = memberAt(input, call.arguments);
  if (call.isText && typeof value === "string") {
    return parseObject(() => parseJson(value), call.arguments);
  }
  if (value instanceof JsonObject) return value;
  throw new UnusableInput(`${call.arguments} is not a JSON object.`);
}

/** @throws UnusableInput */
function parseObject(parse: () => JsonValue, what: string): JsonObject {
  let value: JsonValue;
  try {
    value = parse();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new UnusableInput(`${what} is not valid: ${error.message}`);
  }
  if (value instanceof JsonObject) return value;
  throw new UnusableInput(`${what} is not a JSON object.`);
}

function idOf(input: JsonObject, path: string, { title }: Agent): string {
  const id = memberAt(input, path);
  if (typeof id === "string" && ID.test(id)) return id;
  throw new UnusableInput(`${path} is missing or not an id. Upgrade ${title}.`);
}

/** Only strings: reviewers see them and policies can use them. */
function contextOf(input: JsonObject, agent: Agent, callId: string | undefined): JsonObject {
  const sent = Object.entries(agent.input.context).flatMap(([name, path]): [string, string][] => {
    const value = memberAt(input, path);
    return typeof value === "string" ? [[name, value]] : [];
  });
  const members: [string, string][] = [["runtime", agent.name], ...sent];
  if (callId !== undefined) members.push(["call_id", callId]);
  const written = members.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  return new JsonObject(new Map(members), `{${written.join(",")}}`);
}

/** @param path names of members, separated by dots */
function memberAt(input: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = input;
  for (const name of path.split(".")) {
    if (!(value instanceof JsonObject)) return undefined;
    value = value.members.get(name);
  }
  return value;
}
