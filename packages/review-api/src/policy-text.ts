/** The text of a policy: its words, names and ids, and a rule added at the end. Pure. */

/** The members of each map of a policy, by the path of the map. Lists have no part in a path. */
export const POLICY_KEYS = {
  "": ["version", "two_person", "rules", "renderers", "tests"],
  rules: ["id", "match", "when", "then", "note", "valid_for", "ask"],
  "rules.match": ["tool", "server", "instance"],
  "rules.match.instance": ["group", "id", "name"],
  "rules.ask": [
    "from",
    "quorum",
    "exclude",
    "confirm",
    "note",
    "within",
    "grants",
    "bots",
    "channels",
    "escalate",
  ],
  "rules.ask.escalate": ["after", "to"],
  renderers: ["tool", "line"],
  tests: ["name", "given", "expect"],
  "tests.given": ["tool", "server", "args", "instance", "context", "history", "now"],
  "tests.given.instance": ["group", "id", "name"],
  "tests.expect": ["then", "because", "valid_for", "ask"],
} as const;

/** A pattern of names (a glob) that matches exactly this text. */
export function escapeGlob(text: string): string {
  return text.replace(/[\\*?]/g, "\\$&");
}

const RULE_LINE = /^(\s*(?:- +)?)(?:\{ *)?(?:id:\s*["']?([\w.-]+))?/;

/** The ids of the rules in a policy with block lists, each once. The text can be invalid YAML. */
export function ruleIdsIn(source: string): string[] {
  const ids = new Set<string>();
  let isInRules = false;
  /** Where the keys of the rules are; undefined before the first rule. */
  let column: number | undefined;
  for (const line of source.split("\n")) {
    if (/^[^\s#-]/.test(line)) isInRules = line.startsWith("rules:");
    if (!isInRules) continue;
    const [, indent = "", id] = RULE_LINE.exec(line) ?? [];
    if (indent.includes("-")) column ??= indent.length;
    if (id !== undefined && indent.length === column) ids.add(id);
  }
  return [...ids];
}

/** Items of lists: lines of YAML without indentation. */
export interface RuleText {
  readonly rule: readonly string[];
  readonly test?: readonly string[];
}

/**
 * Adds a rule and its test to a policy, and changes nothing else in its text.
 *
 * @param source undefined where no version is published
 * @returns undefined for a text in another layout than block lists
 */
export function addToPolicy(
  source: string | undefined,
  { rule, test }: RuleText,
): string | undefined {
  const withRule = addToList(source ?? "version: 1\nrules: []\n", "rules", rule);
  return test === undefined ? withRule : withRule && addToList(withRule, "tests", test);
}

function addToList(
  source: string,
  key: "rules" | "tests",
  added: readonly string[],
): string | undefined {
  const lines = source.replace(/\n*$/, "").split("\n");
  let head = lines.findIndex((line) => line.startsWith(`${key}:`));
  if (head < 0) {
    // Rules are required; tests are not.
    if (key === "rules") return undefined;
    head = lines.push(`${key}:`) - 1;
  }
  const value = (lines[head] ?? "").slice(key.length + 1).replace(/\s+#.*$/, "");
  const isEmptyList = /^\s*\[\s*\]\s*$/.test(value);
  if (!isEmptyList && value.trim() !== "") return undefined;
  if (isEmptyList) lines[head] = `${key}:`;
  const end = endOfList(lines, head);
  const first = lines.slice(head + 1, end).find((line) => /^\s*- /.test(line));
  if (first === undefined && end > head + 1) return undefined;
  const indent = " ".repeat(first === undefined ? 2 : first.search(/-/));
  lines.splice(end, 0, ...added.map((line) => indent + line));
  return `${lines.join("\n")}\n`;
}

/** Comments and empty lines before the next key belong to that key. */
function endOfList(lines: readonly string[], head: number): number {
  let end = lines.findIndex((line, at) => at > head && /^[^\s#-]/.test(line));
  if (end < 0) end = lines.length;
  while (end > head + 1 && /^\s*(?:#.*)?$/.test(lines[end - 1] ?? "")) end--;
  return end;
}
