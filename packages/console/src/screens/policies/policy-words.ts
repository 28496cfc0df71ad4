/** The values of keys of a policy, by the path of the key, and the names in a condition. */

import type { Completion } from "@codemirror/autocomplete";
import { CALL_SIGNALS } from "@countersign/review-api/calls";

const VERBS = ["approve", "ask", "deny"];
const FLAGS = ["true", "false"];
const DURATIONS = ["5m", "15m", "30m", "1h", "4h"];

export const VALUES: Readonly<Record<string, readonly string[]>> = {
  version: ["1"],
  two_person: FLAGS,
  "rules.then": VERBS,
  "rules.valid_for": DURATIONS,
  "rules.ask.exclude": ["owner"],
  "rules.ask.confirm": ["click", "match", "passkey", "type(args.id)"],
  "rules.ask.note": ["required", "optional"],
  "rules.ask.within": DURATIONS,
  "rules.ask.grants": FLAGS,
  "rules.ask.bots": FLAGS,
  "rules.ask.channels": ["console", "api", "chat"],
  "rules.ask.escalate.after": DURATIONS,
  "tests.expect.then": VERBS,
};

const VARIABLES = ["args", "tool", "instance", "context", "now", "history", "signals"];

/** By what they are called with. */
const FUNCTIONS = [
  ["has", "has(args.)"],
  ["size", "size()"],
  ["type", "type()"],
  ["glob", "glob(, )"],
  ["within", "within(, )"],
] as const;

export const CEL_NAMES: readonly Completion[] = [
  ...VARIABLES.map((label) => ({ label, type: "variable" })),
  ...CALL_SIGNALS.map((id) => ({ label: id, apply: `"${id}"`, type: "constant" })),
  ...FUNCTIONS.map(([label, apply]) => ({ label, apply, type: "function" })),
];
