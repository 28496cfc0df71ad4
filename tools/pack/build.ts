/**
 * Builds the sources of one package to plain ES modules with types and source maps. The maps
 * contain the sources, so a stack trace names TypeScript when Node runs with
 * `--enable-source-maps`.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { decode, encode, type SourceMapSegment } from "@jridgewell/sourcemap-codec";
import type { JoinOrder } from "./join-modules.ts";
import { type Manifest, modulesOf } from "./manifest.ts";
import type { PublishedPackage } from "./packages.ts";

export const ROOT = join(import.meta.dirname, "../..");

export const TSC = join(ROOT, "node_modules/.bin/tsc");

/** Syntax and library that a promised Node has, so that what is newer is refused or rewritten. */
const LANGUAGE = {
  ">=22": { target: "es2024", lib: ["es2024"] },
  ">=24": { target: "esnext", lib: ["esnext"] },
};

/** The types of a package that is staged already, as an installed one would show them. */
export type StagedTypes = Readonly<Record<string, readonly string[]>>;

/** Its own process, because the bundler is asynchronous and packing is not. */
const JOIN_MODULES = join(import.meta.dirname, "join-modules.ts");

/**
 * @param outDir where the modules go
 * @throws Error with what the compiler says
 */
export function build(
  { folder, node, isJoined = false }: PublishedPackage,
  outDir: string,
  staged: StagedTypes,
  scratch: string,
): void {
  const home = join(ROOT, "packages", folder);
  const src = join(home, "src");
  const options = {
    ...LANGUAGE[node],
    noEmit: false,
    rootDir: src,
    outDir,
    rewriteRelativeImportExtensions: true,
    // Sources of the repository are found by name; a package is built on what others publish.
    paths: staged,
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  mkdirSync(scratch, { recursive: true });
  const file = join(scratch, `tsconfig.${folder}.json`);
  for (const output of isJoined ? [DECLARATIONS] : [MODULES, DECLARATIONS]) {
    const config = {
      extends: join(ROOT, "tsconfig.json"),
      compilerOptions: { ...options, ...output },
      include: [`${src}/**/*.ts`],
      exclude: [`${src}/**/*.test.ts`, `${src}/**/*-fixture.ts`],
    };
    writeFileSync(file, JSON.stringify(config));
    compile(folder, file);
  }
  if (isJoined) {
    const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest;
    const order: JoinOrder = {
      src,
      dist: outDir,
      entries: modulesOf(manifest),
      target: LANGUAGE[node].target,
    };
    execFileSync(process.execPath, [JOIN_MODULES, JSON.stringify(order)], { stdio: "inherit" });
  }
  nameModules(outDir);
  shortenMaps(outDir, src);
}

/** The source maps contain the comments. */
const MODULES = { removeComments: true, sourceMap: true, inlineSources: true };

/** Apart, because an editor shows the comments of declarations. */
const DECLARATIONS = { declaration: true, emitDeclarationOnly: true };

function compile(folder: string, file: string): void {
  try {
    execFileSync(TSC, ["-p", file], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout = "" } = error as { readonly stdout?: string };
    throw new Error(`${folder} does not build:\n${stdout}`, { cause: error });
  }
}

/**
 * The compiler leaves `./gate.ts` in a declaration, and finds gate.d.ts by it; other programs that
 * read types do not.
 */
function nameModules(folder: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of names.filter((name) => name.endsWith(".d.ts"))) {
    const path = join(folder, file);
    const text = readFileSync(path, "utf8");
    const named = text.replace(/\b(from |import\(|import )"(\.[^"\n]*)\.ts"/g, '$1"$2.js"');
    if (named !== text) writeFileSync(path, named);
  }
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/**
 * The compiler writes paths of this machine. A published map has paths in the package. It names the
 * line of each place and no columns, which would take a third of a map.
 */
function shortenMaps(folder: string, src: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of names.filter((name) => name.endsWith(".js.map"))) {
    const path = join(folder, file);
    const map = JSON.parse(readFileSync(path, "utf8")) as SourceMap;
    const sources = map.sources.map((source) => {
      const inSources = relative(src, join(dirname(path), source));
      return relative(dirname(path), join(folder, "../src", inSources));
    });
    const mappings = encode(decode(map.mappings).map(firstOfEachSourceLine));
    writeFileSync(path, JSON.stringify({ ...map, sources, names: [], mappings }));
  }
}

/** @param segments of one generated line */
function firstOfEachSourceLine(segments: SourceMapSegment[]): SourceMapSegment[] {
  const kept: SourceMapSegment[] = [];
  for (const [column, source, line] of segments) {
    if (source === undefined || line === undefined) continue;
    const last = kept.at(-1);
    if (last?.[1] !== source || last[2] !== line) kept.push([column, source, line, 0]);
  }
  return kept;
}
