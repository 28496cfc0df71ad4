/**
 * Bundles what a package uses of large dependencies into modules of its own, so that an install
 * does not contain the rest of them. `tools/pack/packages.ts` names these dependencies.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { rolldown } from "rolldown";

/** Folder of the bundled modules, and the licenses of the code in them. */
const BUNDLED = "bundled";
const LICENSES = "LICENSES.txt";

export interface BundleOrder {
  /** With the compiled modules. */
  readonly dist: string;
  /** The package of these modules in the repository. */
  readonly home: string;
  /** Names of packages. */
  readonly dependencies: readonly string[];
}

/** @throws Error if no module imports one of the dependencies */
export async function bundle({ dist, home, dependencies }: BundleOrder): Promise<void> {
  const names = readdirSync(dist, { recursive: true, encoding: "utf8" });
  const modules = names.filter((name) => name.endsWith(".js")).map((name) => join(dist, name));
  const input: Record<string, string> = {};
  for (const path of modules) {
    const text = readFileSync(path, "utf8").replace(
      /\b(from |import\()"([^."][^"]*)"/g,
      (whole, keyword: string, specifier: string) => {
        const isBundled = dependencies.some((name) => `${specifier}/`.startsWith(`${name}/`));
        if (!isBundled) return whole;
        const name = specifier.replace(/\.js$/, "").replace(/\W+/g, "-").replace(/^-/, "");
        input[name] = specifier;
        return `${keyword}"./${relative(dirname(path), join(dist, BUNDLED, `${name}.js`))}"`;
      },
    );
    writeFileSync(path, text);
  }
  for (const dependency of dependencies) {
    const isUsed = Object.values(input).some((specifier) => specifier.startsWith(dependency));
    if (!isUsed) throw new Error(`No module in ${home} imports ${dependency}.`);
  }
  const build = await rolldown({ cwd: home, platform: "node", input, external: /^node:/ });
  const { output } = await build.write({ dir: join(dist, BUNDLED), format: "esm" });
  const files = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  const external = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.imports : []));
  const missing = external.filter((name) => !name.startsWith("node:") && !name.endsWith(".js"));
  if (missing.length > 0) throw new Error(`Could not bundle ${missing.join(", ")}.`);
  writeFileSync(join(dist, BUNDLED, LICENSES), licensesOf(files));
}

/** @param files modules of packages in a folder node_modules */
function licensesOf(files: readonly string[]): string {
  const homes = files.flatMap(
    (file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
  );
  const texts = [...new Set(homes)].sort().map((home) => {
    const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as {
      readonly name: string;
      readonly version: string;
      readonly license: string;
    };
    const file = readdirSync(home).find((name) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`${manifest.name} contains no license.`);
    const text = readFileSync(join(home, file), "utf8").trim();
    return `${manifest.name} ${manifest.version} (${manifest.license})\n\n${text}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

if (import.meta.main) await bundle(JSON.parse(process.argv[2] ?? "") as BundleOrder);
