/**
 * The allowed contents of the lockfile: packages with a digest, from one registry, without install
 * scripts except where allowed, under licences that allow redistribution.
 */

import { satisfies } from "semver";

export interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly license?: string;
  readonly optional?: boolean;
  readonly deprecated?: string;
  readonly engines?: Readonly<Record<string, string>> | readonly string[];
}

export interface Lockfile {
  /** By folder, like `node_modules/yaml`. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Of what is shipped; tools of developers may have others. */
const LICENSES: ReadonlySet<string> = new Set([
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "BlueOak-1.0.0",
  "MIT-0",
  "(MIT OR CC0-1.0)",
  "Unlicense",
  "(Apache-2.0 AND BSD-3-Clause)",
  "(AFL-2.1 OR BSD-3-Clause)",
]);

/** `npm ci` prints no warning on these versions of Node. */
const NODE_VERSIONS = ["20.20.0", "22.22.0", "24.18.0"];

const INSIDE = "node_modules/";

/**
 * @param allowed names of packages whose scripts may run, with true
 * @returns what is wrong, in words
 */
export function lockfileFaults(
  { packages }: Lockfile,
  allowed: Readonly<Record<string, boolean>>,
): string[] {
  const faults: string[] = [];
  const hosts = new Set<string>();
  for (const [folder, locked] of Object.entries(packages)) {
    if (!folder.includes(INSIDE) || locked.link) continue;
    const name = folder.slice(folder.lastIndexOf(INSIDE) + INSIDE.length);
    const what = `${name}@${locked.version}`;
    if (!/^sha512-/.test(locked.integrity ?? "")) faults.push(`${what} has no sha512 of its bytes`);
    // Without an address it is what the registry has under this name.
    if (locked.resolved !== undefined) {
      if (!/^https:\/\//.test(locked.resolved))
        faults.push(`${what} is not a package of a registry`);
      else hosts.add(new URL(locked.resolved).origin);
    }
    faults.push(...warningsOf(locked).map((warning) => `${what} ${warning}`));
    if (locked.dev) continue;
    if (locked.hasInstallScript) faults.push(`${what} is shipped and runs a script when installed`);
    if (!LICENSES.has(locked.license ?? "")) {
      faults.push(`${what} is shipped under ${locked.license ?? "no licence"}`);
    }
  }
  if (hosts.size > 1) faults.push(`packages come from ${hosts.size} places`);
  for (const [name, isAllowed] of Object.entries(allowed)) {
    const locked = Object.entries(packages).find(([folder]) => folder === INSIDE + name)?.[1];
    if (isAllowed && !locked?.hasInstallScript)
      faults.push(`${name} is allowed a script it has not`);
  }
  return faults;
}

/** The warnings that `npm ci` prints. */
function warningsOf({ deprecated, engines = {}, optional }: LockedPackage): string[] {
  const warnings = deprecated === undefined ? [] : [`is deprecated: ${deprecated}`];
  const range = "node" in engines ? engines.node : "*";
  if (optional) return warnings;
  const unsupported = NODE_VERSIONS.filter((version) => !satisfies(version, range));
  return [...warnings, ...unsupported.map((version) => `does not support Node ${version}`)];
}
