/**
 * The package.json of a package as it is published: what points at sources in the repository points
 * at what was built from them, and what only the repository needs is gone.
 */

import type { PublishedPackage } from "./packages.ts";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly imports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

interface Target {
  readonly types: string;
  readonly default: string;
}

const SOURCE = /^\.\/src\/(.+)\.ts$/;

const REPOSITORY = "https://github.com/countersign/countersign";

/** A target among the sources as the built one; another, like a page, as it is. */
function builtTarget(target: string): Target | string {
  const [, path] = SOURCE.exec(target) ?? [];
  if (path === undefined) return target;
  return { types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` };
}

function builtTargets(targets: Readonly<Record<string, string>>): Record<string, Target | string> {
  // Shared test code is not published.
  const published = Object.entries(targets).filter(([, to]) => !to.startsWith("./test/"));
  return Object.fromEntries(published.map(([name, to]) => [name, builtTarget(to)]));
}

/** The modules that a package.json names: paths in the sources, without an extension. */
export function modulesOf({ exports = {}, imports = {} }: Manifest): string[] {
  const targets = [...Object.values(exports), ...Object.values(imports)];
  return targets.flatMap((target) => SOURCE.exec(target)?.[1] ?? []);
}

type Targets = Readonly<Record<string, Target | string>>;

interface PublishedManifest {
  readonly exports?: Targets;
  readonly imports?: Targets;
  readonly [field: string]: unknown;
}

/** The declarations that a package.json names. */
export function typesOf({ exports = {}, imports = {} }: PublishedManifest): string[] {
  const targets = [...Object.values(exports), ...Object.values(imports)];
  return targets.flatMap((target) => (typeof target === "string" ? [] : [target.types]));
}

export function publishedManifest(
  source: Manifest,
  { folder, node, bundled = [] }: PublishedPackage,
): PublishedManifest {
  const { exports, imports, dependencies, devDependencies: _, ...kept } = source;
  const needed = Object.entries(dependencies ?? {}).filter(([name]) => !bundled.includes(name));
  return {
    ...kept,
    homepage: `${REPOSITORY}#readme`,
    bugs: `${REPOSITORY}/issues`,
    repository: {
      type: "git",
      url: `git+${REPOSITORY}.git`,
      directory: `packages/${folder}`,
    },
    ...(exports !== undefined && { exports: builtTargets(exports) }),
    ...(imports !== undefined && { imports: builtTargets(imports) }),
    ...(needed.length > 0 && { dependencies: Object.fromEntries(needed) }),
    files: source.bin === undefined ? ["dist"] : ["bin", "dist"],
    engines: { node },
    publishConfig: { access: "public", provenance: true },
  };
}
