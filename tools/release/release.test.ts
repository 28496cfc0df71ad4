import assert from "node:assert/strict";
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { addSection, readSection } from "./changelog.ts";
import { prepareVersion } from "./version.ts";

const ROOT = resolve(import.meta.dirname, "../..");

test("a version adds its section above the others, and the notes of a release are its text", () => {
  const changelog = "# Changelog\n\n## 1.0.0\n\n- The first one.\n";
  const changes = [
    { bump: "patch", summary: "Fix a leak.\nIt lost memory." },
    { bump: "minor", summary: "Add a command." },
  ] as const;
  const added = addSection(changelog, "1.1.0", changes);
  assert.equal(
    added,
    "# Changelog\n\n## 1.1.0\n\n### Changes\n\n- Add a command.\n\n### Fixes\n\n" +
      "- Fix a leak.\n  It lost memory.\n\n## 1.0.0\n\n- The first one.\n",
  );
  assert.equal(readSection(added, "1.0.0"), "- The first one.");
  assert.match(readSection(added, "1.1.0"), /^### Changes[\s\S]*memory\.$/);
  assert.throws(() => readSection(added, "1.2.0"), /has no section "## 1.2.0"/);
  const unreleased = "## 1.0.0 (unreleased)\n\n- A.\n";
  assert.throws(() => readSection(unreleased, "1.0.0"), /write "## 1.0.0"/);
});

test("one changeset raises the version of all packages and files that name it", async (t) => {
  const root = temporaryFolder(t);
  const files = ["package.json", "package-lock.json", "CHANGELOG.md", ".changeset/config.json"];
  files.push("deploy/helm/Chart.yaml");
  files.push("deploy/github-actions/countersign.yaml");
  files.push(...globSync(["packages/*/package.json", "docs/guides/*.md"], { cwd: ROOT }));
  const examples = globSync("examples/{*,agents/*}/package.json", { cwd: ROOT });
  files.push(...examples);
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(join(ROOT, file), join(root, file));
  }
  const changeset = '---\n"@countersign/sdk": minor\n---\n\nAdd a gate.\n';
  writeFileSync(join(root, ".changeset/some-name.md"), changeset);
  const read = (file: string) => readFileSync(join(root, file), "utf8");
  const before = (JSON.parse(read("package.json")) as { readonly version: string }).version;
  const version = await prepareVersion(root);
  assert.notEqual(version, before);
  for (const file of files.filter((name) => name.endsWith("package.json"))) {
    const { version: own, dependencies = {} } = JSON.parse(read(file)) as {
      readonly version: string;
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    if (!examples.includes(file)) assert.equal(own, version, file);
    for (const [name, needed] of Object.entries(dependencies)) {
      const isOurs = name === "countersign" || name.startsWith("@countersign/");
      if (isOurs) assert.equal(needed, version, `${file}: ${name}`);
    }
  }
  assert.match(read("CHANGELOG.md"), /^# Changelog\n\n## \S+\n\n### Changes\n\n- Add a gate\.\n/);
  const chart = read("deploy/helm/Chart.yaml");
  assert.ok(chart.includes(`\nversion: ${version}\nappVersion: ${version}\n`));
  const workflow = read("deploy/github-actions/countersign.yaml");
  assert.equal(workflow.split(`countersign@${version} `).length, 3);
  assert.ok(read("docs/guides/gate-one-tool.md").includes(`-sdk-${version}.tgz`));
  const cronJob = read("docs/guides/archive-the-audit-log.md");
  assert.ok(cronJob.includes(`image: ghcr.io/countersign/countersign:${version}\n`));
  assert.deepEqual(readdirSync(join(root, ".changeset")), ["config.json"]);
  assert.deepEqual(globSync("packages/*/CHANGELOG.md", { cwd: root }), []);
});
