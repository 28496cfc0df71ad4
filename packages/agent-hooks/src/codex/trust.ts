/**
 * Codex's record of a trusted hook in the text of `config.toml`. Codex skips a hook without this
 * record, and `codex exec` prints nothing about it.
 *
 * Pure. The file is edited as text, so everything else keeps its exact bytes.
 *
 * Source: openai/codex, codex-rs/hooks/src/engine/discovery.rs. Keys and hashes were compared with
 * those that Codex 0.169.0 lists.
 */

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Handler } from "../install/settings-handler.ts";
import { parseConfig, UnusableConfig } from "./config.ts";

/** The change of the text: `after` replaced `before`. An empty `before`: `after` was appended. */
export interface TrustEdit {
  readonly before: string;
  readonly after: string;
}

/** The members of a handler that Codex's hash contains. */
const HASHED = ["type", "command", "timeout", "async", "statusMessage"];

/** Seconds. Codex's default for a handler without a timeout. */
const TIMEOUT_DEFAULT = 600;

/** @param path of the file with the hooks, as Codex names it */
export function trustKey(path: string, { event, group, index }: Omit<Handler, "value">): string {
  return `${path}:${stateName(event)}:${group}:${index}`;
}

/** @returns undefined for a handler with a member that the hash is not known to contain */
export function trustHash({ event, matcher, value }: Handler): string | undefined {
  if (Object.keys(value).some((name) => !HASHED.includes(name))) return undefined;
  const { type, command, timeout, statusMessage } = value;
  // In alphabetical order: Codex hashes JSON with sorted members.
  const handler = {
    async: value.async === true,
    command,
    statusMessage: statusMessage ?? undefined,
    timeout: typeof timeout === "number" ? Math.max(1, timeout) : TIMEOUT_DEFAULT,
    type,
  };
  const hook = {
    event_name: stateName(event),
    hooks: [handler],
    matcher: matcher ?? undefined,
  };
  return `sha256:${createHash("sha256").update(JSON.stringify(hook)).digest("hex")}`;
}

/** The record of one hook. Undefined: there is none. */
export function trustState(
  text: string,
  key: string,
): { readonly trusted_hash?: unknown; readonly enabled?: unknown } | undefined {
  return statesOf(parseConfig(text))[key] as object | undefined;
}

/**
 * @returns undefined if the text already contains the record
 * @throws UnusableConfig
 */
export function trustEdit(text: string, key: string, hash: string): TrustEdit | undefined {
  const state = trustState(text, key);
  const old = state?.trusted_hash;
  if (old === hash) return undefined;
  if (state === undefined) return verified(text, key, hash, appended(text, key, hash));
  const edit = typeof old === "string" ? { before: old, after: hash } : undefined;
  return verified(text, key, hash, edit);
}

/** @throws UnusableConfig if the edit would change anything else, or not add the record */
function verified(text: string, key: string, hash: string, edit: TrustEdit | undefined): TrustEdit {
  const edited = edit && applyEdit(text, edit);
  const isDone = edited !== undefined && differOnlyIn(key, text, edited);
  if (edit !== undefined && isDone && trustState(edited, key)?.trusted_hash === hash) return edit;
  throw new UnusableConfig(`the record of ${key} cannot be changed without other settings`);
}

/** @returns undefined if the text does not contain `before` exactly once */
export function applyEdit(text: string, { before, after }: TrustEdit): string | undefined {
  if (before === "") return text + after;
  return occursOnce(text, before) ? text.replace(before, () => after) : undefined;
}

/**
 * Removes the edit from a text that others may have changed since.
 *
 * @returns undefined if the record cannot be removed without other settings
 */
export function withoutEdit(text: string, key: string, edit: TrustEdit): string | undefined {
  const { before, after } = edit;
  const exact = occursOnce(text, after) ? text.replace(after, () => before) : undefined;
  if (exact !== undefined && differOnlyIn(key, text, exact)) return exact;
  const cut = before === "" ? withoutTable(text, key) : undefined;
  return cut !== undefined && differOnlyIn(key, text, cut) ? cut : undefined;
}

/** `PreToolUse` as `pre_tool_use`. */
function stateName(event: string): string {
  return event.replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase();
}

function headerOf(key: string): string {
  // TOML has the escapes of JSON, and requires one for DEL.
  return `[hooks.state.${JSON.stringify(key).replaceAll("\x7f", "\\u007f")}]`;
}

/** A table at the end: there it cannot change which table the other lines belong to. */
function appended(text: string, key: string, hash: string): TrustEdit {
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  const gap = text === "" ? "" : /\n$/.test(text) ? lineEnd : lineEnd + lineEnd;
  const lines = [headerOf(key), `trusted_hash = "${hash}"`, ""];
  return { before: "", after: gap + lines.join(lineEnd) };
}

/** The text without the lines of the record's table, which others have changed. */
function withoutTable(text: string, key: string): string | undefined {
  const lines = text.split(/(?<=\n)/);
  const first = lines.findIndex((line) => line.trim() === headerOf(key));
  if (first === -1) return undefined;
  const length = lines.slice(first + 1).findIndex((line) => line.trimStart().startsWith("["));
  const next = length === -1 ? lines.length : first + 1 + length;
  return [...lines.slice(0, first), ...lines.slice(next)].join("");
}

/** True if both texts have the same settings, apart from the record of this hook. */
function differOnlyIn(key: string, first: string, second: string): boolean {
  try {
    return isDeepStrictEqual(withoutRecord(first, key), withoutRecord(second, key));
  } catch {
    return false;
  }
}

function withoutRecord(text: string, key: string): object {
  const root = parseConfig(text);
  const { hooks } = root as { hooks?: { state?: Record<string, unknown> } };
  if (hooks?.state === undefined) return root;
  delete hooks.state[key];
  if (Object.keys(hooks.state).length === 0) delete hooks.state;
  if (Object.keys(hooks).length === 0) delete root.hooks;
  return root;
}

function statesOf(root: Record<string, unknown>): Record<string, unknown> {
  return Object(Object(root.hooks).state) as Record<string, unknown>;
}

function occursOnce(text: string, part: string): boolean {
  const at = text.indexOf(part);
  return part !== "" && at !== -1 && text.indexOf(part, at + 1) === -1;
}
