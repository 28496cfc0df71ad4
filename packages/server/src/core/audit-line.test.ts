import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExportLine, readEntry, writeEntry, writeExportLine } from "./audit-line.ts";

const ENTRY = {
  projectId: "p",
  id: "e",
  at: 1_700_000_000_000,
  kind: "request.opened",
  actor: "instance:i",
  subject: 'request:"r"',
  detail: '{"n":9007199254740993}',
};

const LINE =
  '{"project_id":"p","id":"e","at":1700000000000,"kind":"request.opened",' +
  '"actor":"instance:i","subject":"request:\\"r\\"","detail":{"n":9007199254740993}}';

test("[ours.audit.sealed] an entry is sealed as one line with the exact text of its detail", () => {
  assert.equal(writeEntry(ENTRY), LINE);
  const { detail: _, projectId: __, ...named } = ENTRY;
  // Numbers of a detail are exact in the line, and rounded when it is parsed.
  assert.deepEqual(readEntry(LINE), { ...named, detail: { n: Number("9007199254740993") } });
});

test("[ours.audit.export] an entry is read from its place as exactly the text that was written there", () => {
  for (const position of [0, 1, 10, Number.MAX_SAFE_INTEGER]) {
    for (const entry of [LINE, "{}", '{"a":"}}"}', '{"a":\n1}']) {
      assert.deepEqual(parseExportLine(writeExportLine(position, entry)), { position, entry });
    }
  }
});

test("[ours.audit.verify] a line of another form is not an entry at its position", () => {
  for (const line of [
    "",
    "{}",
    LINE,
    ` ${writeExportLine(1, "{}")}`,
    `${writeExportLine(1, "{}")}\n`,
    ...["01", "-1", "1.0", "1e1", "10000000000000000", '"1"', ""].map(
      (position) => `{"position":${position},"entry":{}}`,
    ),
    ...["[]", "1", "{", "}"].map((entry) => `{"position":1,"entry":${entry}}`),
    '{"entry":{},"position":1}',
    '{"position":1,"entry":{},"more":1}x',
  ]) {
    assert.equal(parseExportLine(line), undefined, line);
  }
});

test("[ours.audit.verify] a text that lacks a part, or has another kind of value there, is not an entry", () => {
  const whole = JSON.parse(LINE);
  for (const name of ["id", "kind", "actor", "subject"]) {
    for (const value of [undefined, null, 1, {}]) {
      assert.equal(readEntry(JSON.stringify({ ...whole, [name]: value })), undefined, name);
    }
  }
  for (const at of [undefined, null, "1"]) {
    assert.equal(readEntry(JSON.stringify({ ...whole, at })), undefined);
  }
  for (const detail of [undefined, null, [], "{}", 1]) {
    assert.equal(readEntry(JSON.stringify({ ...whole, detail })), undefined);
  }
  for (const text of ["", "{", "null", "[]", "1"]) assert.equal(readEntry(text), undefined, text);
});
