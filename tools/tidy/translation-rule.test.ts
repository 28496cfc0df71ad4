import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSources } from "./source.ts";
import { translations } from "./translation-rule.ts";

const SCREEN = "packages/console/src/screens/deny.tsx";
const GERMAN = "packages/console/src/language/de.json";

/** Messages about a screen with this code, and a German catalogue. */
function messages(code: string, catalogue: object = {}, path = SCREEN): string[] {
  const sources = parseSources(new Map([[path, code]]));
  const found = translations(sources, new Map([[GERMAN, JSON.stringify(catalogue)]]));
  return found.map(({ message }) => message);
}

test("a text without a translation is reported, whatever its tag", () => {
  assert.deepEqual(messages(`t\`Deny \${tool} on \${server}\`;`), [
    "“Deny {0} on {1}” has no translation in de.json",
  ]);
  assert.deepEqual(messages(`rich\`By \${<b>{name}</b>}\`;`), [
    "“By {0}” has no translation in de.json",
  ]);
  assert.deepEqual(messages('plural(n, { one: "1 call", other: "# calls" });'), [
    "“# calls” has no translation in de.json",
  ]);
});

test("a text with a translation of the same values is not reported, in any order", () => {
  const catalogue = { "Deny {0} on {1}": "Auf {1}: {0} ablehnen" };
  assert.deepEqual(messages(`t\`Deny \${tool} on \${server}\`;`, catalogue), []);
});

test("a translation without a value is reported", () => {
  assert.deepEqual(messages(`t\`Deny \${tool}\`;`, { "Deny {0}": "Ablehnen" }), [
    "the translation of “Deny {0}” in de.json has other values",
  ]);
});

test("a plural needs each form of the language, and another text has one", () => {
  const code = 'plural(n, { one: "1 call", other: "# calls" });';
  assert.deepEqual(messages(code, { "# calls": { one: "Aufruf", other: "# Aufrufe" } }), []);
  assert.deepEqual(messages(code, { "# calls": { other: "# Aufrufe" } }), [
    "“# calls” in de.json has no text for “one”",
  ]);
  assert.deepEqual(messages(code, { "# calls": "# Aufrufe" }), [
    "“# calls” in de.json must have a text for each number",
  ]);
  assert.deepEqual(messages("t`Deny`;", { Deny: { one: "a", other: "b" } }), [
    "“Deny” in de.json must be one text",
  ]);
});

test("a translation of no text is reported", () => {
  assert.deepEqual(messages("t`Deny`;", { Deny: "Ablehnen", Allow: "Erlauben" }), [
    "no text of the console is “Allow”",
  ]);
});

test("a text of an element or a label that is not in the catalogues is reported", () => {
  assert.deepEqual(messages("<p>Nothing is decided.</p>;"), [
    "“Nothing is decided.” cannot be translated: use t",
  ]);
  assert.deepEqual(messages('<Field name="login" label="Login" />;'), [
    "“Login” cannot be translated: use t",
  ]);
});

test("commands, keys, the product's name, tests and other packages are not reported", () => {
  const code = "<p><code>npm start</code> <kbd>Enter</kbd> <b>Countersign</b> · {name}</p>;";
  assert.deepEqual(messages(code), []);
  assert.deepEqual(messages("<p>Fine here.</p>;", {}, "packages/console/src/a.test.tsx"), []);
  assert.deepEqual(messages("t`Fine here.`;", {}, "packages/cli/src/a.ts"), []);
});
