import assert from "node:assert/strict";
import { test } from "node:test";
import { csvRecord } from "./csv.ts";

/**
 * Reads like spreadsheets and lenient parsers: a quote counts at the start of a cell, and text
 * after the closing quote is added to the cell.
 */
function read(text: string, separator: string): string[] {
  const cells: string[] = [];
  let cell = "";
  let state: "start" | "plain" | "quoted" = "start";
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] as string;
    if (state === "quoted") {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') cell += text[++at];
      else state = "plain";
    } else if (letter === separator || letter === "\n" || letter === "\r") {
      cells.push(cell);
      [cell, state] = ["", "start"];
    } else if (letter === '"' && state === "start") {
      state = "quoted";
    } else {
      cell += letter;
      state = "plain";
    }
  }
  return [...cells, cell];
}

/** With what may hide it. */
const FORMULA = /^[\t\r\n]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/;

const LETTERS = [";", '"', "=", "\n", "\t", "'", "a"];

/** All texts of so many letters. */
function* texts(length: number): Generator<string> {
  if (length === 0) yield "";
  else for (const rest of texts(length - 1)) for (const letter of LETTERS) yield letter + rest;
}

test("[ours.history.export.separators] no cell starts a formula with any separator of a spreadsheet", () => {
  for (const text of texts(5)) {
    const json = JSON.stringify({ [text]: [text, "\uFF1D"] });
    for (const cells of [
      ["id", text],
      ["id", text, text],
      ["id", { json }, text],
    ]) {
      const record = csvRecord(cells) + csvRecord(cells);
      for (const separator of [",", ";", "\t"]) {
        const formulas = read(record, separator).filter((cell) => FORMULA.test(cell));
        assert.deepEqual(formulas, [], JSON.stringify([record, separator]));
      }
    }
  }
});

test("[ours.history.export.separators] text gets a guard character only where a formula would start", () => {
  const guarded = {
    "=1": "'=1",
    "x;=1": "x;'=1",
    'x;""@1': `x;'""@1`,
    "x\n- y\r\n+1\t\uFF0B1": "x\n'- y\r\n'+1\t'\uFF0B1",
    "a=b; c=d;e,=f": "a=b; c=d;e,=f",
    "x;'=1": "x;'=1",
  };
  for (const [text, cell] of Object.entries(guarded)) {
    assert.equal(read(csvRecord(["id", text]), ",")[1], cell);
  }
});

test("[ours.history.export.separators] JSON text is guarded by an escape, so that it says the same", () => {
  const plain = '{"n":1.10e400,\n"d":[\n-5,\t-9007199254740993],"t":"a=b; =c"}';
  assert.equal(read(csvRecord(["id", { json: plain }]), ",")[1], plain);
  const hostile = '{"q":"x;=1;\uFF20;-- y;\\"=","n":1.10}';
  const [, cell = ""] = read(csvRecord(["id", { json: hostile }]), ",");
  assert.equal(cell, '{"q":"x;\\u003d1;\\uff20;\\u002d- y;\\"=","n":1.10}');
  assert.deepEqual(JSON.parse(cell), JSON.parse(hostile));
});
