/**
 * Time, chance and the outside world come in at known doors: core and policy know none of them,
 * the rest of the house gets them injected, and the environment is read in one place.
 */

import {
  isCallExpression,
  isElementAccessExpression,
  isIdentifier,
  isNewExpression,
  isObjectBindingPattern,
  isPropertyAccessExpression,
  isVariableDeclaration,
  type Node,
} from "typescript/unstable/ast";
import {
  type Import,
  isReference,
  isTest,
  type Source,
  type Violation,
  violation,
} from "./source.ts";

const PURE = ["packages/server/src/core/", "packages/server/src/policy/"];

/** Node's own modules that compute and touch nothing. */
const PURE_MODULES = ["node:assert", "node:buffer", "node:crypto", "node:util"];

/** The one place in the pure rooms where time is felt: it stops what runs too long. */
const TIME_LIMIT_FILE = "packages/server/src/policy/time-limit.ts";

/** Global names that reach time, chance or the world. */
const IMPURE_GLOBALS = [
  "process",
  "globalThis",
  "performance",
  "crypto",
  "fetch",
  "WebSocket",
  "EventSource",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "console",
];

/** Global names that reach other machines, or modules past the fences for imports. */
const OUTBOUND_GLOBALS = ["fetch", "WebSocket", "EventSource"];

/** The one file that reaches a server which the operator has named: the identity provider. */
const NAMED_SERVER_FILE = "packages/server/src/oidc/provider-fetch.ts";
const BUILTIN_FILES = [
  "packages/server/src/egress/http-exchange.ts",
  "packages/server/src/egress/pinned-connection.ts",
  "packages/server/src/http/create-http-server.ts",
];

const CLOCK_FILES = [
  "packages/server/src/clock.ts",
  "packages/sdk/src/clock.ts",
  "packages/conformance/src/clock.ts",
  "packages/console/src/device-clock.ts",
  "packages/cli/",
];
const ENVIRONMENT_FILES = [
  "packages/server/src/config/read-config.ts",
  "packages/sdk/src/environment.ts",
  "packages/cli/src/",
];

export function purity(source: Source): Violation[] {
  if (!isPure(source.path)) return [];
  const violations: Violation[] = [];
  for (const each of source.imports) {
    if (each.specifier === "node:vm" && source.path === TIME_LIMIT_FILE) continue;
    const message = impureImport(each);
    if (message !== undefined) {
      violations.push({ file: source.path, line: each.line, message });
    }
  }
  for (const node of source.nodes) {
    const found =
      clockRead(node) ??
      (isRandomCall(node) ? "Math.random" : undefined) ??
      IMPURE_GLOBALS.find((name) => isReference(node, name));
    if (found !== undefined) {
      violations.push(violation(source, node, `${found} in a pure room: pass it in`));
    }
  }
  return violations;
}

/** The clock and chance are injected, so that tests and simulations can own them. */
export function injectedClock(source: Source): Violation[] {
  if (!isHouse(source.path) || isPure(source.path)) return [];
  const mayReadClock = isIn(source.path, CLOCK_FILES);
  const violations: Violation[] = [];
  for (const node of source.nodes) {
    const clock = mayReadClock ? undefined : clockRead(node);
    if (clock !== undefined) {
      violations.push(violation(source, node, `${clock} outside clock.ts: use the Clock`));
    }
    if (isRandomCall(node)) {
      violations.push(violation(source, node, "Math.random: use the injected Random"));
    }
  }
  return violations;
}

/** A server reaches others through egress/egress-client.ts, but for its identity provider. */
export function oneEgress(source: Source): Violation[] {
  if (!source.path.startsWith("packages/server/src/") || isTest(source.path)) return [];
  const violations: Violation[] = [];
  for (const node of source.nodes) {
    const name = OUTBOUND_GLOBALS.find((each) => isReference(node, each));
    const isNamed = name === "fetch" && source.path === NAMED_SERVER_FILE;
    if (name !== undefined && !isNamed) {
      violations.push(violation(source, node, `${name}: the egress client is the only way out`));
    }
    if (isMember(node, "process", "getBuiltinModule") && !BUILTIN_FILES.includes(source.path)) {
      violations.push(violation(source, node, "process.getBuiltinModule passes the fences"));
    }
  }
  return violations;
}

export function environmentOnce(source: Source): Violation[] {
  if (!isHouse(source.path) || isPure(source.path)) return [];
  if (isIn(source.path, ENVIRONMENT_FILES)) return [];
  const message = "process.env outside the config reader: add an option to the table";
  const violations: Violation[] = [];
  for (const node of source.nodes) {
    if (readsEnvironment(node)) violations.push(violation(source, node, message));
  }
  for (const { specifier, names, line } of source.imports) {
    if (specifier !== "node:process" || !names.includes("env")) continue;
    violations.push({ file: source.path, line, message });
  }
  return violations;
}

function impureImport({ specifier, names }: Import): string | undefined {
  if (!specifier.startsWith("node:")) return undefined;
  if (!PURE_MODULES.includes(specifier)) return `"${specifier}" in a pure room: pass it in`;
  if (specifier !== "node:crypto") return undefined;
  const chance = names.find((name) => name === "*" || name === "default" || isChance(name));
  if (chance === undefined) return undefined;
  return `${chance} of node:crypto in a pure room: pass chance in, name what is pure`;
}

function isChance(name: string): boolean {
  return /^(random|generate|getRandom|webcrypto)/.test(name);
}

/** Names the expression when it reads the clock. */
function clockRead(node: Node): string | undefined {
  if (isMember(node, "Date", "now")) return "Date.now";
  if (isNewExpression(node) && (node.arguments?.length ?? 0) === 0) {
    return isNamed(node.expression, "Date") ? "new Date()" : undefined;
  }
  if (isCallExpression(node) && isNamed(node.expression, "Date")) return "Date()";
  return undefined;
}

function isRandomCall(node: Node): boolean {
  return isMember(node, "Math", "random");
}

function readsEnvironment(node: Node): boolean {
  if (isMember(node, "process", "env")) return true;
  if (isElementAccessExpression(node)) return isNamed(node.expression, "process");
  if (!isVariableDeclaration(node) || !isObjectBindingPattern(node.name)) return false;
  if (node.initializer === undefined || !isNamed(node.initializer, "process")) return false;
  return node.name.elements.some(({ propertyName, name }) => isNamed(propertyName ?? name, "env"));
}

function isMember(node: Node, object: string, member: string): boolean {
  if (!isPropertyAccessExpression(node) || !isNamed(node.expression, object)) return false;
  return node.name.text === member;
}

function isNamed(node: Node | undefined, name: string): boolean {
  return node !== undefined && isIdentifier(node) && node.text === name;
}

function isHouse(path: string): boolean {
  return /^packages\/[^/]+\/src\//.test(path) && !isTest(path);
}

function isPure(path: string): boolean {
  return isHouse(path) && isIn(path, PURE);
}

function isIn(path: string, places: readonly string[]): boolean {
  return places.some((place) => (place.endsWith("/") ? path.startsWith(place) : path === place));
}
