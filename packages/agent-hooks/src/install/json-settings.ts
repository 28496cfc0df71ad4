/**
 * Adds a hook to the text of a settings file and removes it. Everything else stays unchanged:
 * comments, order, spelling, line ends.
 *
 * Pure. The files have a list for each event: `{"hooks": {EVENT: [...]}}`. An item is a handler
 * `{"type": "command", ...}`, or a group `{"matcher": ..., "hooks": [HANDLER]}`.
 */

import { isDeepStrictEqual } from "node:util";
import type { JsonSettings } from "@countersign/agents";
import {
  applyEdits,
  getNodeValue,
  modify,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { isHookCommand } from "./hook-command.ts";
import { removeParts } from "./inserted-parts.ts";
import { commandOf, type Handler, UnusableSettings } from "./settings-handler.ts";

/** The shape of a settings file. */
export type SettingsShape = Pick<JsonSettings, "isGrouped" | "head">;

/** An agent with such settings. */
export interface JsonAgent {
  readonly name: string;
  readonly settings: SettingsShape;
}

/**
 * All handlers of these events.
 *
 * @throws UnusableSettings when the text is not readable, or has a member twice
 */
export function handlersIn(
  text: string,
  events: readonly string[],
  { isGrouped }: SettingsShape,
): Handler[] {
  const root = rootOf(text);
  return events.flatMap((event) => {
    const items = listAt(root, ["hooks", event])?.children ?? [];
    return items.flatMap((node, group): Handler[] => {
      const item = Object(getNodeValue(node)) as Record<string, unknown>;
      const { matcher, hooks } = item;
      const handlers = !isGrouped ? [item] : Array.isArray(hooks) ? hooks : [];
      const siblings = handlers.length;
      return handlers.map((value, index) => {
        return { event, group, index, matcher, siblings, value: Object(value) };
      });
    });
  });
}

/** The handlers that install added for this agent. */
export function ownHandlers(
  text: string,
  events: readonly string[],
  { name, settings }: JsonAgent,
): Handler[] {
  return handlersIn(text, events, settings).filter(({ value }) => {
    const command = commandOf(value);
    return command !== undefined && isHookCommand(command, name);
  });
}

/**
 * Adds a handler to the end of the list of an event: agents refer to hooks by position.
 *
 * @param text of the file; empty when it does not exist
 * @returns the text, and the new part of it
 * @throws UnusableSettings
 */
export function insertHandler(
  text: string,
  event: string,
  handler: object,
  { isGrouped, head }: SettingsShape,
): { readonly text: string; readonly inserted: string } {
  const item = isGrouped ? { hooks: [handler] } : handler;
  if (text.trim() === "") {
    const created = `${JSON.stringify({ ...head, hooks: { [event]: [item] } }, null, 2)}\n`;
    return { text: created, inserted: created };
  }
  const root = rootOf(text);
  const { at, inserted } = insertionOf(text, root, event, item);
  const edited = text.slice(0, at) + inserted + text.slice(at);
  assertOnlyAdded(text, edited, event, inserted, at);
  return { text: edited, inserted };
}

/** Adds the item to the list, or the list to `hooks`, or `hooks` to the file. */
function insertionOf(text: string, root: Node, event: string, item: object) {
  const style = styleOf(text);
  const list = listAt(root, ["hooks", event]);
  if (list !== undefined) return behindLast(text, list, write(item, 3, style), 3, style);
  const hooks = memberOf(root, "hooks");
  const name = JSON.stringify(event);
  if (hooks !== undefined) {
    return behindLast(text, hooks, `${name}: ${write([item], 2, style)}`, 2, style);
  }
  return behindLast(text, root, `"hooks": ${write({ [event]: [item] }, 1, style)}`, 1, style);
}

/**
 * Removes every handler of this agent's hook: exactly the inserted texts where they are unchanged,
 * otherwise only the handlers, because an agent may have rewritten the file.
 *
 * @param inserted in the order of the insertions
 */
export function removeHandlers(
  text: string,
  events: readonly string[],
  agent: JsonAgent,
  inserted: readonly string[] = [],
): string {
  let left = removeParts(text, inserted, rootOf);
  for (;;) {
    if (left.trim() === "") return left;
    const [first] = ownHandlers(left, events, agent);
    if (first === undefined) return left;
    const { event, group, index, siblings } = first;
    const path = ["hooks", event, group, ...(siblings > 1 ? ["hooks", index] : [])];
    left = applyEdits(left, modify(left, path, undefined, {}));
  }
}

interface Style {
  readonly unit: string;
  readonly lineEnd: string;
}

/** The style of the file, read from its first indented line. */
function styleOf(text: string): Style {
  const unit = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  return { unit, lineEnd: text.includes("\r\n") ? "\r\n" : "\n" };
}

/** @param depth of the value's own members' parent */
function write(value: unknown, depth: number, { unit, lineEnd }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", lineEnd + unit.repeat(depth));
}

function behindLast(text: string, node: Node, piece: string, depth: number, style: Style) {
  const { unit, lineEnd } = style;
  const last = node.children?.at(-1);
  const indent = lineEnd + unit.repeat(depth);
  if (last !== undefined) return { at: last.offset + last.length, inserted: `,${indent}${piece}` };
  // An empty one keeps what is between its brackets, behind what is new.
  const at = node.offset + 1;
  const isTight = /^\s*[\]}]/.test(text.slice(at)) && !/^\s*?\n/.test(text.slice(at));
  const close = isTight ? lineEnd + unit.repeat(depth - 1) : "";
  return { at, inserted: `${indent}${piece}${close}` };
}

/** @throws UnusableSettings */
function rootOf(text: string): Node {
  const errors: ParseError[] = [];
  // Claude Code accepts a byte order mark. A space in its place keeps all offsets.
  const root = parseTree(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new UnusableSettings(`line ${line} is not JSON: ${printParseErrorCode(error.error)}`);
  }
  if (root?.type !== "object") throw new UnusableSettings("it is not a JSON object");
  return root;
}

/** @throws UnusableSettings when it is there twice: agents disagree on which counts */
function memberOf(node: Node, name: string): Node | undefined {
  const found = (node.children ?? []).filter(({ children }) => children?.[0]?.value === name);
  if (found.length > 1) throw new UnusableSettings(`${name} occurs twice`);
  const value = found[0]?.children?.[1];
  if (value !== undefined && value.type !== "object" && value.type !== "array") {
    throw new UnusableSettings(`${name} is neither an object nor a list`);
  }
  return value;
}

function listAt(root: Node, path: readonly [string, string]): Node | undefined {
  const parent = memberOf(root, path[0]);
  if (parent === undefined) return undefined;
  if (parent.type !== "object") throw new UnusableSettings(`${path[0]} is not an object`);
  const list = memberOf(parent, path[1]);
  if (list !== undefined && list.type !== "array") {
    throw new UnusableSettings(`${path[1]} is not a list`);
  }
  return list;
}

/** Rejects an edit that would change anything else in the file. */
function assertOnlyAdded(
  before: string,
  after: string,
  event: string,
  inserted: string,
  at: number,
): void {
  const taken = after.slice(0, at) + after.slice(at + inserted.length);
  const values = [before, after].map((text) => getNodeValue(rootOf(text)) as object);
  const [first = {}, second = {}] = values.map((value) => structuredClone(value)) as {
    hooks?: Record<string, unknown[]>;
  }[];
  const list = second.hooks?.[event];
  const added = list?.pop();
  if (list?.length === 0 && first.hooks?.[event] === undefined) delete second.hooks?.[event];
  if (Object.keys(second.hooks ?? {}).length === 0 && first.hooks === undefined) {
    delete second.hooks;
  }
  if (taken === before && added !== undefined && isDeepStrictEqual(first, second)) return;
  throw new UnusableSettings("adding the hook would change other settings");
}
