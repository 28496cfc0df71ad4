import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { anchorsOf } from "../site/markdown.ts";
import { PAGES as WRITTEN } from "./pages.ts";

const ROOT = join(import.meta.dirname, "../..");

const PAGES = ["*.md", "docs/**/*.md", "deploy/**/*.md", "examples/**/*.md"];

for (const { file, text } of WRITTEN) {
  test(`${relative(ROOT, file)} is up to date with its table (npm run docs)`, async () => {
    assert.equal(readFileSync(file, "utf8"), await text());
  });
}

test("the guide for receivers shows the receiver in thirty lines word for word", () => {
  const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
  const guide = read("docs/guides/receive-webhooks.md");
  const [, shown] = /^```js\n(.*?)^```$/ms.exec(guide) ?? [];
  assert.equal(shown, read("examples/webhook-receiver/thirty-lines.mjs"));
});

test("every relative link in the documentation leads to a file that exists", async () => {
  const broken: string[] = [];
  for await (const name of glob(PAGES, { cwd: ROOT })) {
    const file = join(ROOT, name);
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      if (!existsSync(join(dirname(file), target))) broken.push(`${name}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test("every anchor that a link in the documentation names exists in its page", async () => {
  const broken: string[] = [];
  for await (const name of glob(PAGES, { cwd: ROOT })) {
    const file = join(ROOT, name);
    const links = readFileSync(file, "utf8").matchAll(/\]\(([^)#\s]*)#([^)\s]+)\)/g);
    for (const [, path = "", anchor = ""] of links) {
      if (/^[a-z]+:/.test(path) || (path !== "" && !path.endsWith(".md"))) continue;
      const target = path === "" ? file : join(dirname(file), path);
      if (!existsSync(target)) continue;
      if (!anchorsOf(readFileSync(target, "utf8")).has(anchor)) {
        broken.push(`${name}: ${path}#${anchor}`);
      }
    }
  }
  assert.deepEqual(broken, []);
});

test("every npm script that the documentation names exists", async () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const unknown: string[] = [];
  for await (const name of glob(PAGES, { cwd: ROOT })) {
    for (const [, script = ""] of readFileSync(join(ROOT, name), "utf8").matchAll(
      /\bnpm run (?:--silent |-s )?([a-z][\w:-]*)/g,
    )) {
      if (scripts[script] === undefined) unknown.push(`${name}: ${script}`);
    }
  }
  assert.deepEqual(unknown, []);
});
