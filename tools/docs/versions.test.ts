/**
 * One version for all: the latest of the changelog.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../..");

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

test("every version is the latest version of the changelog", () => {
  const version = /^## (\d+\.\d+\.\d+)/m.exec(read("CHANGELOG.md"))?.[1];
  assert.ok(version !== undefined);
  const folders = readdirSync(join(ROOT, "packages"));
  for (const folder of ["", ...folders.map((name) => `packages/${name}`)]) {
    const { version: own, dependencies = {} } = JSON.parse(read(join(folder, "package.json"))) as {
      readonly version: string;
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    assert.equal(own, version, folder);
    for (const [name, needed] of Object.entries(dependencies)) {
      if (name.startsWith("@countersign/")) assert.equal(needed, version, `${folder}: ${name}`);
    }
  }
  for (const guide of readdirSync(join(ROOT, "docs/guides"))) {
    const named = /(\d+\.\d+\.\d+)\.tgz|ghcr\.io\/countersign\/countersign:(\S+)/g;
    for (const [, packed, image] of read(`docs/guides/${guide}`).matchAll(named)) {
      assert.equal(packed ?? image, version, guide);
    }
  }
  const chart = read("deploy/helm/Chart.yaml");
  assert.equal(/^version: (\S+)$/m.exec(chart)?.[1], version);
  assert.equal(/^appVersion: (\S+)$/m.exec(chart)?.[1], version);
  const workflow = read("deploy/github-actions/countersign.yaml");
  for (const [, installed] of workflow.matchAll(/countersign@(\S+)/g)) {
    assert.equal(installed, version);
  }
});
