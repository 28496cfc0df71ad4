import assert from "node:assert/strict";
import test from "node:test";
import { house, judge } from "./fixture.ts";
import {
  noAny,
  noDefaultExport,
  noMarkers,
  noSilencedCompiler,
  noSwitchedTests,
} from "./syntax-rules.ts";

const PATH = house("http/routes.ts");
const TEST = "packages/server/test/routes.test.ts";

test("any is no type", () => {
  const message = ["1: any: say what it is, or unknown"];
  for (const text of ["let a: any;", "it as any;", "let a: Map<string, any[]>;"]) {
    assert.deepEqual(judge(noAny, PATH, text), message, text);
  }
  assert.deepEqual(judge(noAny, PATH, 'const any = "any"; // any'), []);
});

test("nothing is exported as default", () => {
  const message = ["1: default export: export it by name"];
  const defaults = [
    "export default function it() {}",
    "export default class {}",
    "export default 1;",
    "export { it as default };",
    'export { default } from "./it.ts";',
  ];
  for (const text of defaults) assert.deepEqual(judge(noDefaultExport, PATH, text), message, text);
  const named = [
    "export function it() {}",
    'export { default as it } from "it";',
    "switch (it) { default: go(); }",
    'import it from "it";',
  ];
  for (const text of named) assert.deepEqual(judge(noDefaultExport, PATH, text), [], text);
});

test("a comment holds no note to oneself", () => {
  for (const marker of ["TODO", "FIXME", "XXX", "HACK"]) {
    const message = `${marker}: do it, or plan it outside the code`;
    assert.deepEqual(judge(noMarkers, PATH, `go(); // ${marker}: later`), [`1: ${message}`]);
    assert.deepEqual(judge(noMarkers, PATH, `/**\n * ${marker}\n */\ngo();`), [`2: ${message}`]);
    assert.deepEqual(judge(noMarkers, PATH, `const it = "// ${marker}";`), []);
  }
  assert.deepEqual(judge(noMarkers, PATH, "// a todo list, and hackers"), []);
});

test("texts and patterns that look like comments are none", () => {
  const text = ["const a = `// ", "$", "{b} /* `;", 'const c = /[/]* "/;'].join("");
  assert.deepEqual(judge(noMarkers, PATH, `${text}\n// HACK`), [
    "2: HACK: do it, or plan it outside the code",
  ]);
});

test("the compiler is not silenced", () => {
  const message = ["1: silenced compiler: mend the type, or expect the one error"];
  assert.deepEqual(judge(noSilencedCompiler, PATH, "// @ts-ignore\ngo();"), message);
  assert.deepEqual(judge(noSilencedCompiler, PATH, "/* @ts-nocheck */"), message);
  assert.deepEqual(judge(noSilencedCompiler, PATH, "// @ts-expect-error refused\ngo();"), []);
});

test("a test is not switched off, and switches off no other", () => {
  for (const name of ["only", "skip", "todo"]) {
    const message = [`1: ${name}: a test runs or is not there`];
    const switched = [
      `test.${name}("it", () => {});`,
      `describe.${name}("it", () => {});`,
      `t.${name}();`,
      `test("it", { ${name}: true }, () => {});`,
      `test("it", { ${name}: "later" }, () => {});`,
    ];
    for (const text of switched) {
      assert.deepEqual(judge(noSwitchedTests, TEST, text), message, text);
    }
    assert.deepEqual(judge(noSwitchedTests, PATH, `list.${name}();`), []);
    assert.deepEqual(judge(noSwitchedTests, TEST, `test("it", { ${name}: false }, go);`), []);
    assert.deepEqual(judge(noSwitchedTests, TEST, `const it = { ${name}: true };`), []);
  }
});
