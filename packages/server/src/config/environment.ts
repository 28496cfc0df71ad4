/**
 * Validates environment variables that start with `COUNTERSIGN_`. An unknown one prevents the
 * start: with a misspelled name, the setting would silently have its default.
 */

import { ALL_OPTIONS, environmentName, fileVariable, SECRET_OPTIONS } from "./options.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "COUNTERSIGN_";

/** Variables of the agent hooks, of this repository's tests and of its model runs. */
const OTHER_PREFIXES = [
  "COUNTERSIGN_ADAPTER_",
  "COUNTERSIGN_HOOK_",
  "COUNTERSIGN_TEST_",
  "COUNTERSIGN_MODEL_",
];

/** Variables of `countersign mcp-gateway` and of deploy/compose. */
const OTHER_NAMES = [
  "COUNTERSIGN_API_KEY",
  "COUNTERSIGN_API_KEY_FILE",
  "COUNTERSIGN_INSTANCE_TOKEN",
  "COUNTERSIGN_IMAGE",
];

/**
 * Variables that Kubernetes sets in every pod for a service named `countersign` or
 * `countersign-...`.
 *
 * @see https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const SERVICE_LINK =
  /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const SERVICE_URL = /^(tcp|udp|sctp):\/\//;

/** `COUNTERSIGN_PORT=tcp://10.0.0.1:8787` is a service link too, not the setting. */
function isServiceLink(name: string, value: string): boolean {
  return SERVICE_LINK.test(name) || (name.endsWith("_PORT") && SERVICE_URL.test(value));
}

/** Removes the variables that Kubernetes adds. */
export function withoutServiceLinks(environment: Environment): Environment {
  const entries = Object.entries(environment).filter(
    ([name, value = ""]) => !name.startsWith(PREFIX) || !isServiceLink(name, value),
  );
  return Object.fromEntries(entries);
}

/** @returns one fault for each unknown variable */
export function unknownVariables(environment: Environment): string[] {
  const settings = [
    ...ALL_OPTIONS.map(({ name }) => environmentName(name)),
    ...SECRET_OPTIONS.map(({ name }) => fileVariable(name)),
  ];
  const known = new Set([...settings, ...OTHER_NAMES]);
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name))
    .filter((name) => !OTHER_PREFIXES.some((prefix) => name.startsWith(prefix)))
    .sort()
    .map((name) => {
      const nearest = nearestOf(name, settings);
      const fix = nearest === undefined ? "remove it" : `did you mean ${nearest}?`;
      return `${name}: unknown setting; ${fix}`;
    });
}

/** A larger distance suggests an unrelated name. */
const EDITS_MAX = 3;

function nearestOf(name: string, names: readonly string[]): string | undefined {
  const [nearest] = names
    .map((each) => ({ each, edits: editsBetween(name, each) }))
    .filter(({ edits }) => edits <= EDITS_MAX)
    .sort((a, b) => a.edits - b.edits);
  return nearest?.each;
}

/** Levenshtein distance. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, char] of [...one].entries()) {
    const next = [index + 1];
    for (const [column, otherChar] of [...other].entries()) {
      const replaced = (row[column] ?? 0) + (char === otherChar ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
