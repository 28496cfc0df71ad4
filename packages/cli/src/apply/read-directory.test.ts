import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { KINDS } from "./kinds/index.ts";
import { readDirectory } from "./read-directory.ts";

function findingsOf(t: TestContext, files: Readonly<Record<string, string>>): string[] {
  const directory = temporaryFolder(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const { findings } = readDirectory(directory, KINDS);
  return findings.map(({ file, line, message }) => {
    return `${file}:${line} ${message}`.replaceAll(`${directory}/`, "");
  });
}

test("[ours.apply.files] a policy in a file of documents, or without a file, is an error", (t) => {
  const policyIn = (file: string) => `kind: Policy\npolicy_file: ${file}\n`;
  const rule = "contains documents; write the policy to a file of its own";
  assert.deepEqual(findingsOf(t, { "a.yaml": policyIn("a.yaml") }), [`a.yaml:2 a.yaml ${rule}`]);
  const circle = {
    "a.yaml": policyIn("b.yaml"),
    "b.yaml": `kind: BaselinePolicy\npolicy_file: ./a.yaml\n`,
  };
  assert.deepEqual(findingsOf(t, circle), [`a.yaml:2 b.yaml ${rule}`, `b.yaml:2 a.yaml ${rule}`]);
  assert.deepEqual(findingsOf(t, { "a.yaml": policyIn("missing.yaml") }), [
    "a.yaml:2 missing.yaml: the file does not exist",
  ]);
});
