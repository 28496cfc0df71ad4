/**
 * The file edits that coding agents send, in the shapes in which they send them. Arguments with
 * two members for one role, or with a member that is not listed here, have no preview: a tool may
 * use the other member. Pure.
 */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";

export interface FileEdit {
  /** Empty when a patch names its files itself. */
  readonly path: string;
  /** The replaced text; empty with `whole` and `patch`. */
  readonly before: string;
  /** The new text, or the patch. */
  readonly after: string;
  /** `part`: one place; `whole`: the complete new content; `patch`: as the agent wrote it. */
  readonly kind: "part" | "whole" | "patch";
  /** Every place that matches is changed. */
  readonly isEverywhere: boolean;
}

type Role = "path" | "content" | "patch" | "before" | "after" | "everywhere" | "edits" | "other";

const ROLES: ReadonlyMap<string, Role> = new Map([
  ["file_path", "path"],
  ["path", "path"],
  ["filename", "path"],
  ["content", "content"],
  ["file_text", "content"],
  ["patch", "patch"],
  ["diff", "patch"],
  ["input", "patch"],
  ["old_string", "before"],
  ["old_str", "before"],
  ["new_string", "after"],
  ["new_str", "after"],
  ["replace_all", "everywhere"],
  ["edits", "edits"],
  ["description", "other"],
  ["explanation", "other"],
]);

/** The word with which an editor tool selects its action; it has a preview of its own. */
const EDITOR_ACTION = /^[a-z_]+$/;

/** Tools that do not replace the whole content of a file. */
const PARTIAL_TOOLS = /append|prepend|insert|add/i;

/** Longer texts have no preview. */
const LINES_MAX = 20_000;

/** @returns an empty list when the arguments are not an edit, or are ambiguous */
export function fileEditsIn(tool: string, args: JsonValue): FileEdit[] {
  if (!(args instanceof JsonObject)) return [];
  const command = args.members.get("command");
  const isEditor = typeof command === "string" && EDITOR_ACTION.test(command);
  const roles = rolesIn(args, isEditor ? "command" : undefined);
  if (roles === undefined) return [];
  const { path = "", patch, content, edits, before } = roles;
  const kinds = [patch, content, edits, before].filter((one) => one !== undefined);
  if (kinds.length !== 1 || typeof path !== "string") return [];
  if (typeof patch === "string") return patchEdit(path, patch, roles);
  if (path === "") return [];
  if (edits instanceof JsonArray) return roles.everywhere === undefined ? all(path, edits) : [];
  if (before !== undefined) return replacement(path, roles) ?? [];
  const isWhole = typeof content === "string" && roles.after === undefined;
  if (!isWhole || roles.everywhere !== undefined || PARTIAL_TOOLS.test(tool)) return [];
  return [{ path, before: "", after: content, kind: "whole", isEverywhere: false }];
}

type Roles = Partial<Record<Role, JsonValue>>;

/** @returns undefined for a member without a role, and for two with one role */
function rolesIn({ members }: JsonObject, ignored?: string): Roles | undefined {
  const roles: Roles = {};
  for (const [key, value] of members) {
    if (key === ignored) continue;
    if (typeof value === "string" && countLines(value) > LINES_MAX) return undefined;
    const role = ROLES.get(key);
    if (role === undefined) return undefined;
    if (role !== "other" && roles[role] !== undefined) return undefined;
    roles[role] = value;
  }
  return roles;
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function all(path: string, { items }: JsonArray): FileEdit[] {
  const found = items.map((item) => {
    const roles = item instanceof JsonObject ? rolesIn(item) : undefined;
    if (roles === undefined || roles.path !== undefined || roles.content !== undefined) return [];
    if (roles.patch !== undefined || roles.edits !== undefined) return [];
    return replacement(path, roles) ?? [];
  });
  return found.every(({ length }) => length === 1) ? found.flat() : [];
}

function replacement(path: string, roles: Roles): FileEdit[] | undefined {
  const { before, after, everywhere = false } = roles;
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  if (typeof everywhere !== "boolean") return undefined;
  return [{ path, before, after, kind: "part", isEverywhere: everywhere }];
}

const PATCH = /^(?:\*\*\* Begin Patch\r?\n|diff --git |--- |@@ )/;
/** Lines that name the files of a patch. */
const FILE_LINE = /^(?:\*\*\* |--- |\+\+\+ |diff |rename |copy )/m;

function patchEdit(path: string, patch: string, roles: Roles): FileEdit[] {
  if (!PATCH.test(patch) || roles.after !== undefined || roles.everywhere !== undefined) return [];
  // A tool uses either the path beside the patch or the paths inside it.
  if (path !== "" && FILE_LINE.test(patch)) return [];
  return [{ path, before: "", after: patch, kind: "patch", isEverywhere: false }];
}
