/**
 * Why an agent ignores a whole settings file, with the hook in it. Both agents parse strict JSON.
 * Claude Code 2.1.330 discards the file for one value of the wrong type; Codex 0.169.0 does so for
 * an unknown member, too. These checks cover the members of hooks and the common ones. Doctor
 * starts the agent itself to find the rest.
 */

import type { Agent } from "@countersign/agents";
import { type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";

type Members = Readonly<Record<string, unknown>>;

interface Rules {
  readonly isBomAccepted: boolean;
  readonly hookTypes: readonly string[];
  /** Events with entries that discard the file. Claude Code skips a faulty entry of another one. */
  readonly events: readonly string[];
  readonly memberFault: (settings: Members) => string | undefined;
}

const RULES: Readonly<Record<string, Rules>> = {
  "claude-code": {
    isBomAccepted: true,
    hookTypes: ["command", "prompt", "agent", "http", "mcp_tool"],
    events: ["PreToolUse", "PermissionRequest"],
    memberFault: claudeMemberFault,
  },
  codex: {
    isBomAccepted: false,
    hookTypes: ["command", "mcp_tool", "prompt", "agent"],
    events: ["PreToolUse", "PermissionRequest", "PostToolUse", "SessionStart", "Stop"],
    memberFault: codexMemberFault,
  },
};

const BOM = "\uFEFF";

/** @returns the reason in words, undefined when no check found one */
export function findSettingsFault(text: string, agent: Agent): string | undefined {
  const rules = RULES[agent.name];
  if (rules === undefined || text.trim() === "") return undefined;
  if (text.startsWith(BOM) && !rules.isBomAccepted) return "it starts with a byte order mark";
  const json = text.startsWith(BOM) ? text.slice(BOM.length) : text;
  const fault = syntaxFault(json);
  if (fault !== undefined) return fault;
  const settings: unknown = JSON.parse(json);
  if (!isObject(settings)) return "it is not a JSON object";
  const found = rules.memberFault(settings);
  if (found !== undefined) return found;
  const hooks = isObject(settings.hooks) ? settings.hooks : {};
  return first(rules.events, (event) => eventFault(hooks[event], `hooks.${event}`, rules));
}

function syntaxFault(json: string): string | undefined {
  const errors: ParseError[] = [];
  parseTree(json, errors, { disallowComments: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = json.slice(0, error.offset).split("\n").length;
    return `line ${line} is not strict JSON: ${printParseErrorCode(error.error)}`;
  }
  try {
    JSON.parse(json);
    return undefined;
  } catch {
    // Without the message of the parser, which quotes the file.
    return "it is not strict JSON";
  }
}

const CLAUDE_TYPES: Readonly<Record<string, string>> = {
  apiKeyHelper: "string",
  cleanupPeriodDays: "number",
  disableAllHooks: "boolean",
  env: "object",
  includeCoAuthoredBy: "boolean",
  model: "string",
  outputStyle: "string",
  permissions: "object",
  statusLine: "object",
};

function claudeMemberFault(settings: Members): string | undefined {
  const fault = first(Object.keys(CLAUDE_TYPES), (name) => {
    return typeFault(settings[name], name, CLAUDE_TYPES[name] ?? "");
  });
  const permissions = isObject(settings.permissions) ? settings.permissions : {};
  return (
    fault ??
    first(["allow", "ask", "deny", "additionalDirectories"], (name) => {
      return typeFault(permissions[name], `permissions.${name}`, "array");
    })
  );
}

function codexMemberFault(settings: Members): string | undefined {
  const unknown = Object.keys(settings).find((name) => !["description", "hooks"].includes(name));
  if (unknown !== undefined) return `it has the unknown member ${JSON.stringify(unknown)}`;
  return (
    typeFault(settings.description ?? undefined, "description", "string") ??
    typeFault(settings.hooks, "hooks", "object")
  );
}

function eventFault(groups: unknown, path: string, rules: Rules): string | undefined {
  if (!Array.isArray(groups)) return typeFault(groups, path, "array");
  return first([...groups.keys()], (index) => groupFault(groups[index], `${path}.${index}`, rules));
}

function groupFault(group: unknown, path: string, rules: Rules): string | undefined {
  if (!isObject(group)) return `${path} must be an object`;
  const { matcher, hooks } = group;
  if (matcher !== undefined && matcher !== null && typeof matcher !== "string") {
    return `${path}.matcher must be a string`;
  }
  if (!Array.isArray(hooks)) return `${path}.hooks must be an array`;
  return first([...hooks.keys()], (index) => {
    return handlerFault(hooks[index], `${path}.hooks.${index}`, rules);
  });
}

function handlerFault(handler: unknown, path: string, rules: Rules): string | undefined {
  if (!isObject(handler)) return `${path} must be an object`;
  const { type, command, timeout } = handler;
  if (typeof type !== "string" || !rules.hookTypes.includes(type)) {
    return `${path}.type must be one of ${rules.hookTypes.join(", ")}`;
  }
  if (type === "command" && typeof command !== "string") return `${path}.command must be a string`;
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0)) {
    return `${path}.timeout must be a number above 0`;
  }
  return typeFault(handler.async, `${path}.async`, "boolean");
}

function typeFault(value: unknown, path: string, type: string): string | undefined {
  if (value === undefined) return undefined;
  const is = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  return is === type ? undefined : `${path} must be of type ${type}, not ${is}`;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function first<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
