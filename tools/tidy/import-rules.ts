/**
 * Imports point one way. Judges every import of packages/ against the import table.
 */

import { posix } from "node:path";
import { FENCES, PACKAGES, ROOMS } from "./import-table.ts";
import { type Import, isTest, type Source, type Violation } from "./source.ts";

/** Where a file lives: package folder, and below src the room (folder or file without ending). */
interface Place {
  readonly package: string | undefined;
  readonly room: string | undefined;
}

type Target =
  | { readonly kind: "file"; readonly place: Place; readonly relative: boolean }
  | { readonly kind: "outside"; readonly module: string };

/** A test may import anything, but other packages by their name like everyone else. */
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
    if (target.relative) return `imports package ${to.package} by path; import it by name`;
    if (isTest(path)) return undefined;
    return judgePackage(from.package, to.package) ?? judgeProvider(from, to);
  }
  return isTest(path) ? undefined : judgeRoom(from, to, each.typeOnly);
}

function judgeOutside(path: string, from: Place, module: string): string | undefined {
  const outside = PACKAGES[from.package ?? ""]?.outside;
  if (outside === false) {
    return `package ${from.package} imports nothing but itself, not "${module}"`;
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

function resolve(path: string, specifier: string): Target {
  if (specifier.startsWith(".")) {
    const file = posix.join(posix.dirname(path), specifier);
    return { kind: "file", place: placeOf(file), relative: true };
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
