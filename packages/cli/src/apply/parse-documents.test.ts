import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS } from "./kinds/index.ts";
import { parseDocuments } from "./parse-documents.ts";

function parse(text: string) {
  return parseDocuments("a.yaml", text, KINDS);
}

function placesOf(text: string): string[] {
  return parse(text).findings.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

test("[ours.apply.files] documents have their defaults, sorted names, and durations in one spelling", () => {
  const text = `# A comment
kind: Group
name: release
reviewers: [zoe, ana, zoe]
---
kind: Channel
name: ops
type: ntfy
url: https://ntfy.example.com/topic
remind_before: 120s
`;
  const { documents, findings } = parse(text);
  assert.deepEqual(findings, []);
  const [group, channel] = documents.map(({ spec }) => spec as Record<string, unknown>);
  assert.deepEqual([group?.reviewers, group?.agents], [["ana", "zoe"], []]);
  assert.deepEqual(
    [channel?.remind_before, channel?.digest, channel?.enabled],
    ["2m", "off", true],
  );
  const place = documents[0]?.placeOf(["reviewers", 1]);
  assert.deepEqual(place, { file: "a.yaml", line: 4, column: 18 });
});

test("[ours.apply.files] an error has the place of its member, or of the document without it", () => {
  assert.deepEqual(placesOf("kind: Bot\nname: ci\n"), ["1:1 role is missing"]);
  assert.deepEqual(placesOf("kind: Bot\nrole: viewer\nname: 7\n"), ["3:1 name must be a text"]);
  assert.deepEqual(placesOf("kind: Agent\nname: a\n---\n\nkind: Agent\nname: a\nid: 7\n"), [
    "7:1 id is not a known member; remove it",
  ]);
  assert.deepEqual(placesOf("kind: Group\nname: Release\n"), [
    "2:1 name must be 1 to 64 of a-z, 0-9, dot, underscore and hyphen, led by a-z or 0-9",
  ]);
  assert.match(placesOf("- 1\n")[0] ?? "", /^1:1 kind must be one of Project, /);
  assert.match(placesOf("kind: [\n")[0] ?? "", /^\d+:\d+ /);
  assert.match(placesOf("kind: Agent\nname: *y\n")[0] ?? "", /^1:1 Unresolved alias/);
});

test("[ours.apply.secrets] a channel takes each secret from one place", () => {
  const channel = "kind: Channel\nname: a\ntype: webhook\n";
  assert.deepEqual(placesOf(`${channel}url_from: { env: A, file: b }\n`), [
    "4:1 url_from must be {env: NAME} or {file: PATH}",
  ]);
  assert.deepEqual(placesOf(`${channel}url: https://a\nurl_from: { env: A }\n`), [
    "1:1 a channel of the type webhook has both url and url_from",
  ]);
  for (const name of ["COUNTERSIGN_TOKEN", "countersign_admin_token"]) {
    const own = `${channel}url: https://a\nsigning_secret_from:\n  env: ${name}\n`;
    assert.deepEqual(placesOf(own), [
      "6:3 signing_secret_from.env must not start with COUNTERSIGN_, " +
        "which names settings of countersign; use another variable",
    ]);
  }
  assert.deepEqual(placesOf(`${channel}url: https://a\ntoken: xoxb-1\n`), [
    "5:1 token is not a known member; remove it",
  ]);
});
