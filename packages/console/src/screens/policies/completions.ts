/** Completions for a policy: keywords, and the names that occur in calls and in the project. */

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { visibleText } from "@countersign/protocol";
import { POLICY_KEYS, ruleIdsIn } from "@countersign/review-api/policy-text";
import { type CompletionPlace, placeOf } from "./completion-place.ts";
import { CEL_NAMES, VALUES } from "./policy-words.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Text before the cursor that is read at most. */
const CHARS_MAX = 64 * 1024;

const MAPS: Readonly<Record<string, readonly string[]>> = POLICY_KEYS;

export function completePolicy(
  { state, pos, explicit }: CompletionContext,
  vocabulary: Vocabulary,
): CompletionResult | null {
  const before = state.sliceDoc(Math.max(0, pos - CHARS_MAX), pos);
  const place = placeOf(before);
  if (place.path.at(-1) === "when") return completeCondition(before, pos, explicit, vocabulary);
  if (!explicit && place.prefix === "" && place.kind === "key") return null;
  const keys = place.kind === "key" ? keysAt(place) : [];
  // An item of a list can be the start of a key or a value.
  const options = keys.length > 0 ? keys : valuesAt(place, vocabulary, () => state.doc.toString());
  // Enter after a complete word starts a line.
  const isComplete = !explicit && options.some(({ label }) => label === place.prefix);
  if (options.length === 0 || isComplete) return null;
  return { from: pos - place.prefix.length, options };
}

function keysAt({ path }: CompletionPlace): readonly Completion[] {
  const keys = MAPS[nameOf(path)] ?? [];
  return keys.map((label) => ({ label, apply: `${label}: `, type: "property" }));
}

function nameOf(path: readonly string[]): string {
  return path.join(".");
}

function valuesAt(
  { path }: CompletionPlace,
  vocabulary: Vocabulary,
  readSource: () => string,
): readonly Completion[] {
  const name = nameOf(path);
  const words = VALUES[name];
  if (words !== undefined) return words.map((label) => ({ label, type: "keyword" }));
  if (name === "tests.expect.because") return ruleIdsIn(readSource()).map(scalar);
  return namesAt(name, vocabulary).map(scalar);
}

function namesAt(name: string, vocabulary: Vocabulary): readonly string[] {
  const groups = vocabulary.reviewer_groups.map((group) => `group:${group}`);
  switch (name) {
    case "rules.match.tool":
    case "tests.given.tool":
      return unique(vocabulary.tools.map(({ tool }) => tool));
    case "rules.match.server":
    case "tests.given.server":
      return unique(vocabulary.tools.flatMap(({ server = [] }) => server));
    case "rules.match.instance.group":
    case "tests.given.instance.group":
      return vocabulary.instance_groups;
    case "rules.match.instance.name":
      return vocabulary.instances;
    case "rules.ask.from":
      return [...groups, ...vocabulary.reviewers.map((reviewer) => `reviewer:${reviewer}`)];
    case "rules.ask.escalate.to":
      return [...groups, ...vocabulary.schedules.map((schedule) => `oncall:${schedule}`)];
    default:
      return [];
  }
}

/** A name from a call can contain any character: the list shows what would be hidden. */
function scalar(value: string): Completion {
  return { label: value, displayLabel: visibleText(value), apply: quoted(value), type: "text" };
}

const PLAIN = /^[A-Za-z_][\w./:-]*$/;
const WORDS = /^(true|false|null|yes|no|on|off)$/i;

/** As a scalar of YAML. */
function quoted(value: string): string {
  const isWord = value === "true" || value === "false" || !WORDS.test(value);
  return PLAIN.test(value) && isWord && !value.endsWith(":") ? value : JSON.stringify(value);
}

function completeCondition(
  before: string,
  pos: number,
  explicit: boolean,
  vocabulary: Vocabulary,
): CompletionResult | null {
  const member = /\bargs((?:\.\w*)+)$/.exec(before);
  if (member !== null) {
    const path = (member[1] ?? "").split(".").slice(1);
    const prefix = path.at(-1) ?? "";
    const options = fieldsBelow(path.slice(0, -1), vocabulary);
    return options.length === 0 ? null : { from: pos - prefix.length, options };
  }
  const word = /(?<![\w."'])[A-Za-z_]*$/.exec(before)?.[0] ?? "";
  if (word === "" && !explicit) return null;
  return { from: pos - word.length, options: CEL_NAMES };
}

/** Members that have a name which CEL can select. */
function fieldsBelow(parent: readonly string[], { tools }: Vocabulary): readonly Completion[] {
  const toolsOf = new Map<string, string[]>();
  for (const { tool, fields } of tools) {
    for (const path of fields) {
      const [name = ""] = path.slice(-1);
      const isBelow =
        path.length === parent.length + 1 && parent.every((key, at) => key === path[at]);
      if (!isBelow || !/^[A-Za-z_]\w*$/.test(name)) continue;
      toolsOf.set(name, [...(toolsOf.get(name) ?? []), tool]);
    }
  }
  return [...toolsOf].map(([label, [first = "", ...more]]) => ({
    label,
    detail: more.length === 0 ? visibleText(first) : `${visibleText(first)} + ${more.length}`,
    type: "property",
  }));
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
