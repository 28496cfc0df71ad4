import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Catalogue, fill, formOf, keyOf, textOf } from "./translate.ts";

const GERMAN: Catalogue = JSON.parse(readFileSync(new URL("de.json", import.meta.url), "utf8"));

function key(texts: TemplateStringsArray, ..._: unknown[]): string {
  return keyOf(texts);
}

test("the key of a template has numbered places", () => {
  assert.equal(key`Cancel`, "Cancel");
  assert.equal(key`${1} of ${2}`, "{0} of {1}");
});

test("a translation may have its values in another order", () => {
  const catalogue = { "Deny {0} on {1}": "{0} ablehnen, auf {1}" };
  const text = textOf(catalogue, "Deny {0} on {1}");
  assert.equal(fill(text, ["rm {1}", "db"]).join(""), "rm {1} ablehnen, auf db");
});

test("a text without a translation is English", () => {
  assert.equal(textOf({}, "Deny {0}"), "Deny {0}");
  const english = { one: "1 call", other: "# calls" };
  assert.equal(formOf({}, english, "one"), "1 call");
  assert.equal(formOf({}, english, "few"), "# calls");
});

test("a plural has the form of its category, else the form for others", () => {
  const english = { one: "1 call", other: "# calls" };
  const polish = { "# calls": { one: "# raz", few: "# razy", other: "# razu" } };
  assert.equal(formOf(polish, english, "few"), "# razy");
  assert.equal(formOf(polish, english, "many"), "# razu");
});

test("the German catalogue is sorted, so that changes of it are small", () => {
  const keys = Object.keys(GERMAN);
  assert.deepEqual(keys, keys.toSorted());
});
