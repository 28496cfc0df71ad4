/** Short helpers that create calls and policies for tests. */

import { JsonObject, parseJson } from "@countersign/protocol";
import { loadPolicy } from "./load.ts";
import type { Call, LoadOptions, Policy } from "./rule.ts";

/** 2026-01-01T12:00:00Z */
const NOW = Date.UTC(2026, 0, 1, 12);

export interface CallText {
  readonly tool?: string;
  /** JSON. */
  readonly args?: string;
  readonly context?: string;
  readonly groups?: readonly string[];
  readonly name?: string;
}

export function callOf({ tool = "pay", args = "{}", context, groups = [], name }: CallText): Call {
  return {
    tool,
    args: objectOf(args),
    context: context === undefined ? undefined : objectOf(context),
    instance: { id: "0190aaaa", name: name ?? "bot-1", groups },
    now: NOW,
  };
}

export function objectOf(json: string): JsonObject {
  const value = parseJson(json);
  if (!(value instanceof JsonObject)) throw new Error(`no object: ${json}`);
  return value;
}

/** @param rules each a rule in YAML flow style: `id: a, then: ask` */
export function policyOf(rules: readonly string[], kind: LoadOptions["kind"] = "project"): Policy {
  const lines = rules.map((rule) => `  - { ${rule} }`);
  return loadPolicy(`version: 1\nrules:${lines.length === 0 ? " []" : ""}\n${lines.join("\n")}\n`, {
    kind,
  });
}
