/**
 * Puts one hook into the text of a settings file and takes it out again. Everything else stays as
 * it is, letter for letter: comments, order, spelling, line ends.
 *
 * Pure. Both agents keep hooks in the same shape: `{"hooks": {"PreToolUse": [{"matcher": ...,
 * "hooks": [{"type": "command", ...}]}]}}`.
 */

import { isDeepStrictEqual } from "node:util";
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

export interface Handler {
  /** Position of the group in PreToolUse, and of the handler in the group. */
  readonly group: number;
  readonly index: number;
  readonly matcher: unknown;
  /** How many handlers the group has. */
  readonly siblings: number;
  readonly value: Readonly<Record<string, unknown>>;
}

export class UnusableSettings extends Error {}

/**
 * All handlers of PreToolUse.
 *
 * @throws UnusableSettings when the text cannot be read, or says one thing twice
 */
export function handlersIn(text: string): Handler[] {
  const groups = listAt(rootOf(text), ["hooks", "PreToolUse"]);
  return (groups?.children ?? []).flatMap((node, group): Handler[] => {
    const { matcher, hooks } = Object(getNodeValue(node)) as Record<string, unknown>;
    const handlers = Array.isArray(hooks) ? hooks : [];
    const siblings = handlers.length;
    return handlers.map((value, index) => {
      return { group, index, matcher, siblings, value: Object(value) };
    });
  });
}

export function ownHandlers(text: string, agent: string): Handler[] {
  return handlersIn(text).filter(({ value: { command } }) => {
    return typeof command === "string" && isHookCommand(command, agent);
  });
}

/**
 * Puts a group with one handler behind all others: what agents remember of hooks, they remember by
 * position.
 *
 * @param text of the file; empty when there is none
 * @returns the text, and the piece of it that is new
 * @throws UnusableSettings
 */
export function insertHandler(
  text: string,
  handler: object,
): { readonly text: string; readonly inserted: string } {
  const group = { hooks: [handler] };
  if (text.trim() === "") {
    const made = `${JSON.stringify({ hooks: { PreToolUse: [group] } }, null, 2)}\n`;
    return { text: made, inserted: made };
  }
  const root = rootOf(text);
  const hooks = memberOf(root, "hooks");
  const list = listAt(root, ["hooks", "PreToolUse"]);
  const style = styleOf(text);
  const { at, inserted } =
    list !== undefined
      ? behindLast(text, list, write(group, 3, style), 3, style)
      : hooks !== undefined
        ? behindLast(text, hooks, `"PreToolUse": ${write([group], 2, style)}`, 2, style)
        : behindLast(text, root, `"hooks": ${write({ PreToolUse: [group] }, 1, style)}`, 1, style);
  const made = text.slice(0, at) + inserted + text.slice(at);
  assertOnlyAdded(text, made, inserted, at);
  return { text: made, inserted };
}

/**
 * Removes every handler of ours: exactly the inserted text where it is unchanged, otherwise only
 * the handler, because an agent may have rewritten the file.
 */
export function removeHandlers(text: string, agent: string, inserted?: string): string {
  const at = inserted === undefined ? -1 : text.indexOf(inserted);
  if (inserted !== undefined && at !== -1 && text.indexOf(inserted, at + 1) === -1) {
    const rest = text.slice(0, at) + text.slice(at + inserted.length);
    if (isReadable(rest) && (rest.trim() === "" || ownHandlers(rest, agent).length === 0)) {
      return rest;
    }
  }
  let left = text;
  for (;;) {
    const [first] = ownHandlers(left, agent);
    if (first === undefined) return left;
    const { group, index, siblings } = first;
    const path = ["hooks", "PreToolUse", group, ...(siblings > 1 ? ["hooks", index] : [])];
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

function isReadable(text: string): boolean {
  try {
    if (text.trim() !== "") rootOf(text);
    return true;
  } catch {
    return false;
  }
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
function assertOnlyAdded(before: string, after: string, inserted: string, at: number): void {
  const taken = after.slice(0, at) + after.slice(at + inserted.length);
  const values = [before, after].map((text) => getNodeValue(rootOf(text)) as object);
  const [first = {}, second = {}] = values.map((value) => structuredClone(value)) as {
    hooks?: { PreToolUse?: unknown[] };
  }[];
  const added = second.hooks?.PreToolUse?.pop();
  if (second.hooks?.PreToolUse?.length === 0 && first.hooks?.PreToolUse === undefined) {
    delete second.hooks.PreToolUse;
  }
  if (Object.keys(second.hooks ?? {}).length === 0 && first.hooks === undefined) {
    delete second.hooks;
  }
  if (taken === before && added !== undefined && isDeepStrictEqual(first, second)) return;
  throw new UnusableSettings("adding the hook would change other settings");
}
