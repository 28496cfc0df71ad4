/**
 * Prepares the next version from the changesets: `npm run next-version`. It writes the version into
 * all packages and into the files that name it, adds a section to CHANGELOG.md, and removes the
 * changesets. It commits and publishes nothing.
 */

import { execFileSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import readChangesets from "@changesets/read";
import { addSection } from "./changelog.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const CHANGESET = join(ROOT, "node_modules/@changesets/cli/bin.js");

/**
 * @returns the next version
 * @throws Error if there is no changeset
 */
export async function prepareVersion(root: string): Promise<string> {
  const changesets = await readChangesets(root);
  if (changesets.length === 0) throw new Error("There is no changeset. Run: npm run changeset");
  const changes = changesets.flatMap(({ summary, releases }) => {
    const bump = (["major", "minor", "patch"] as const).find((type) =>
      releases.some((release) => release.type === type),
    );
    return bump === undefined ? [] : [{ bump, summary }];
  });
  const previous = readVersion(root, ".");
  execFileSync(process.execPath, [CHANGESET, "version"], { cwd: root, stdio: "inherit" });
  const version = readVersion(root, "packages/cli");
  const replace = (path: string, pattern: RegExp, text: string) => {
    const file = join(root, path);
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(pattern, () => text),
    );
  };
  replace("package.json", /"version": "[^"]+"/, `"version": "${version}"`);
  replace("deploy/helm/Chart.yaml", /^version: .+/m, `version: ${version}`);
  replace("deploy/helm/Chart.yaml", /^appVersion: .+/m, `appVersion: ${version}`);
  const workflow = "deploy/github-actions/countersign.yaml";
  replace(workflow, /(?<=npx --yes countersign@)\S+/g, version);
  for (const guide of globSync("docs/guides/*.md", { cwd: root })) {
    replace(guide, new RegExp(`-${RegExp.escape(previous)}\\.tgz`, "g"), `-${version}.tgz`);
    replace(guide, /(?<=image: ghcr\.io\/countersign\/countersign:)\S+/g, version);
  }
  const ours = '(?<="(?:@countersign/[a-z-]+|countersign)": ")';
  for (const manifest of globSync("examples/{*,agents/*}/package.json", { cwd: root })) {
    replace(manifest, new RegExp(`${ours}${RegExp.escape(previous)}(?=")`, "g"), version);
  }
  const changelog = join(root, "CHANGELOG.md");
  writeFileSync(changelog, addSection(readFileSync(changelog, "utf8"), version, changes));
  return version;
}

function readVersion(root: string, folder: string): string {
  const manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return manifest.version;
}

if (import.meta.main) {
  const version = await prepareVersion(ROOT);
  const flags = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];
  execFileSync("npm", flags, { cwd: ROOT, stdio: "inherit" });
  console.log(`Version ${version}. Review the changes, commit them, and push the tag v${version}.`);
}
