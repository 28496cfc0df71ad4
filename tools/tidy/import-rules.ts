/**
 * Imports point one way. Judges every import of packages/ against the import table.
 */

import { posix } from "node:path";
import { DIVIDED, FEATURES, FENCES, PACKAGES, ROOMS } from "./import-table.ts";
import { type Import, isTest, type Source, type Violation } from "./source.ts";

/** The place of a file: its package, and below src its room (folder or file without extension). */
interface Place {
  readonly package: string | undefined;
  readonly room: string | undefined;
}

type Target =
  | { readonly kind: "file"; readonly place: Place; readonly relative: boolean }
  | { readonly kind: "outside"; readonly module: string };

/**
 * A test may import anything. It imports other packages by name, except internals and test helpers
 * of the server, which the server does not export.
 */
export function importDirections(source: Source): Violation[] {
  const from = placeOf(source.path);
  if (from.package === undefined) return [];
  const violations: Violation[] = [];
  for (const each of source.imports) {
    const message = judge(source.path, from, each);
    if (message !== undefined) {
      violations.push({ file: source.path, line: each.line, message });
    }
  }
  return violations;
}

function judge(path: string, from: Place, each: Import): string | undefined {
  const target = resolve(path, each.specifier);
  if (target.kind === "outside") {
    return isTest(path) ? undefined : judgeOutside(path, from, target.module);
  }
  const to = target.place;
  if (to.package === undefined) {
    return isTest(path) ? undefined : `leaves packages/ with "${each.specifier}"`;
  }
  if (to.package !== from.package) {
    if (target.relative && isTest(path) && to.package === "server") return undefined;
    if (target.relative) return `imports package ${to.package} by path; import it by name`;
    if (isTest(path)) return undefined;
    return judgePackage(from.package, to.package) ?? judgeProvider(from, to);
  }
  return isTest(path) ? undefined : judgeRoom(from, to, each.typeOnly);
}

/** Inside a crowded room, a feature imports only the features before it. */
export function featureDirections(source: Source): Violation[] {
  if (isTest(source.path)) return [];
  const violations: Violation[] = [];
  for (const { specifier, line } of source.imports) {
    const target = featureOf(fileOf(source.path, specifier));
    const message = judgeFeature(featureOf(source.path), target);
    if (message !== undefined) violations.push({ file: source.path, line, message });
  }
  return violations;
}

/**
 * A file in operations/ that no other room imports is a step. Tests and tools do not count: they
 * import whatever they try out.
 */
export function calledOperations(sources: readonly Source[]): Violation[] {
  const called = new Set<string>();
  for (const { path, imports } of sources) {
    const { package: from, room } = placeOf(path);
    if (from === undefined || isTest(path) || (from === "server" && room === "operations"))
      continue;
    for (const { specifier } of imports) called.add(fileOf(path, specifier));
  }
  const violations: Violation[] = [];
  for (const { path } of sources) {
    if (isTest(path) || !path.startsWith(OPERATIONS) || called.has(path)) continue;
    const step = path.replace(OPERATIONS, STEPS);
    const message = `no other room calls this operation, so it is a step: move it to ${step}`;
    violations.push({ file: path, line: 1, message });
  }
  return violations;
}

const OPERATIONS = "packages/server/src/operations/";
const STEPS = "packages/server/src/steps/";

/** The rooms without time, chance and input: Biome forbids the globals, this rule the modules. */
const PURE = /^packages\/server\/src\/(core|policy)\//;

/** Node's own modules that only compute. */
const PURE_MODULES = ["node:assert", "node:buffer", "node:crypto", "node:util"];

/** The one file of the pure rooms that measures time: it stops an evaluation that runs too long. */
const TIME_LIMIT_FILE = "packages/server/src/policy/time-limit.ts";

export function pureImports(source: Source): Violation[] {
  if (!PURE.test(source.path) || isTest(source.path)) return [];
  const violations: Violation[] = [];
  for (const { specifier, names, line } of source.imports) {
    if (!specifier.startsWith("node:")) continue;
    if (specifier === "node:vm" && source.path === TIME_LIMIT_FILE) continue;
    const isPure = PURE_MODULES.includes(specifier);
    const chance = specifier === "node:crypto" ? names.find(isChance) : undefined;
    if (isPure && chance === undefined) continue;
    const message = `core/ and policy/ are pure: no ${chance ?? "import"} of "${specifier}"`;
    violations.push({ file: source.path, line, message });
  }
  return violations;
}

function isChance(name: string): boolean {
  return /^(\*|default|random|generate|getRandom|webcrypto)/.test(name);
}

interface Feature {
  readonly room: string;
  readonly name: string;
}

function judgeFeature(from: Feature | undefined, to: Feature | undefined): string | undefined {
  if (from === undefined || from.room !== to?.room || from.name === to.name) return undefined;
  if (FEATURES.indexOf(to.name) < FEATURES.indexOf(from.name)) return undefined;
  return `${from.room}/${from.name} may not import ${to.name}, which is above it`;
}

/** The feature folder that holds a file, if its room has feature folders. */
function featureOf(path: string): Feature | undefined {
  for (const room of DIVIDED) {
    const [before, inside] = path.split(`packages/server/src/${room}/`);
    const [name, ...file] = inside?.split("/") ?? [];
    if (before === "" && name !== undefined && file.length > 0) return { room, name };
  }
  return undefined;
}

const FEATURE_FILES_MAX = 30;

/** A feature folder has a place in the import table, and holds at most 30 files beside tests. */
export function featureFolders(paths: Iterable<string>): Violation[] {
  const files = new Map<string, string[]>();
  const violations: Violation[] = [];
  for (const path of paths) {
    if (!path.endsWith(".ts") || isTest(path)) continue;
    const feature = featureOf(path);
    if (feature === undefined) continue;
    const folder = `${feature.room}/${feature.name}`;
    const inside = files.get(folder) ?? [];
    files.set(folder, [...inside, path]);
    if (inside.length === 0 && !FEATURES.includes(feature.name)) {
      violations.push({ file: path, line: 1, message: `${folder} is not in the import table` });
    }
  }
  for (const [folder, [file = "", ...others]] of files) {
    if (others.length < FEATURE_FILES_MAX) continue;
    const message = `${folder} has ${others.length + 1} files; a feature has at most 30`;
    violations.push({ file, line: 1, message });
  }
  return violations;
}

function judgeOutside(path: string, from: Place, module: string): string | undefined {
  const outside = PACKAGES[from.package ?? ""]?.outside;
  if (outside === false) {
    return `package ${from.package} imports only itself, not "${module}"`;
  }
  if (Array.isArray(outside) && !outside.some((file) => path.endsWith(`/src/${file}`))) {
    const files = outside.join(", ");
    return `package ${from.package} imports from outside in ${files} only, not "${module}"`;
  }
  for (const fence of FENCES) {
    if (!fence.module.test(module)) continue;
    if (fence.within.some((place) => path === place || isWithin(path, place))) continue;
    return `"${module}" may be imported in ${fence.within.join(", ")} only`;
  }
  return undefined;
}

function judgePackage(from: string | undefined, to: string): string | undefined {
  const entry = PACKAGES[from ?? ""];
  if (entry === undefined) return `package ${from} has no entry in the import table`;
  if (entry.imports.includes(to)) return undefined;
  const allowed = entry.imports.join(", ") || "no other package";
  return `package ${from} may not import ${to} (it may import ${allowed})`;
}

function judgeRoom(from: Place, to: Place, typeOnly: boolean): string | undefined {
  if (from.package !== "server" || from.room === undefined || to.room === undefined) {
    return undefined;
  }
  if (from.room === to.room) return undefined;
  const entry = ROOMS[from.room];
  if (entry === undefined) return `room ${from.room} has no entry in the import table`;
  const provider = judgeProvider(from, to);
  if (provider !== undefined) return provider;
  if (entry.values.includes(to.room)) return undefined;
  if (!entry.types.includes(to.room)) return `${from.room} may not import ${to.room}`;
  return typeOnly ? undefined : `${from.room} may import ${to.room} as types only`;
}

function judgeProvider(from: Place, to: Place): string | undefined {
  if (to.package !== "server" || to.room !== "provider") return undefined;
  if (from.package === "server" && from.room === "index") return undefined;
  return "only index.ts imports provider.ts";
}

/** The file that a relative import names; the specifier itself when it is not relative. */
function fileOf(path: string, specifier: string): string {
  return specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier;
}

function resolve(path: string, specifier: string): Target {
  if (specifier.startsWith(".")) {
    return { kind: "file", place: placeOf(fileOf(path, specifier)), relative: true };
  }
  for (const [folder, { name }] of Object.entries(PACKAGES)) {
    if (specifier !== name && !specifier.startsWith(`${name}/`)) continue;
    // Every package exports its src folder: the bare name is its index.
    const inside = specifier === name ? "index" : specifier.slice(name.length + 1);
    const place = placeOf(`packages/${folder}/src/${inside}`);
    return { kind: "file", place, relative: false };
  }
  return { kind: "outside", module: specifier };
}

function placeOf(path: string): Place {
  const [top, folder, below, room] = path.split("/");
  if (top !== "packages" || folder === undefined) return { package: undefined, room: undefined };
  const stem = room?.replace(/(\.test)?\.tsx?$/, "");
  return { package: folder, room: below === "src" ? stem : undefined };
}

function isWithin(path: string, folder: string): boolean {
  return folder.endsWith("/") && path.startsWith(folder);
}
