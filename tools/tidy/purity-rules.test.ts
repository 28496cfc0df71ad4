import assert from "node:assert/strict";
import test from "node:test";
import { house, judge } from "./fixture.ts";
import { environmentOnce, injectedClock, oneEgress, purity } from "./purity-rules.ts";

const CORE = house("core/request.ts");
const POLICY = house("policy/evaluate.ts");
const OPERATION = house("operations/requests/expireRequests.ts");

test("core and policy touch no clock, no chance and no world", () => {
  const impure = [
    ["Date.now();", "Date.now"],
    ["new Date();", "new Date()"],
    ["Date();", "Date()"],
    ["Math.random();", "Math.random"],
    ["process.exit();", "process"],
    ["const pid = process;", "process"],
    ["const all = { process };", "process"],
    ["setTimeout(() => {}, 1);", "setTimeout"],
    ["crypto.randomUUID();", "crypto"],
    ['fetch("https://example.com");', "fetch"],
    ["performance.now();", "performance"],
    ["globalThis.process;", "globalThis"],
  ] as const;
  for (const path of [CORE, POLICY]) {
    for (const [text, name] of impure) {
      assert.deepEqual(judge(purity, path, text), [`1: ${name} in a pure room: pass it in`], text);
    }
  }
});

test("core and policy import no module that reaches the world", () => {
  for (const module of ["node:fs", "node:net", "node:timers/promises", "node:process"]) {
    assert.deepEqual(judge(purity, CORE, `import { it } from "${module}";`), [
      `1: "${module}" in a pure room: pass it in`,
    ]);
  }
  const random = 'import { randomUUID } from "node:crypto";';
  assert.deepEqual(judge(purity, CORE, random), [
    "1: randomUUID of node:crypto in a pure room: pass chance in, name what is pure",
  ]);
  assert.equal(judge(purity, CORE, 'import * as crypto from "node:crypto";').length, 1);
  assert.deepEqual(judge(purity, CORE, 'import { createHash } from "node:crypto";'), []);
});

test("the limit of an evaluation in time has one place", () => {
  const vm = 'import { Script } from "node:vm";';
  assert.deepEqual(judge(purity, house("policy/time-limit.ts"), vm), []);
  assert.equal(judge(purity, POLICY, vm).length, 1);
});

test("what only looks impure is left alone", () => {
  const pure = [
    "new Date(0);",
    "const date = new Date(decidedAt).toISOString();",
    "// Date.now() and process.env",
    'const text = "Math.random()";',
    "const clock = { now: () => 1, process: 2 }; clock.process;",
    "interface Timer { fetch(): void; readonly process: string }",
  ];
  for (const text of pure) assert.deepEqual(judge(purity, CORE, text), [], text);
  assert.deepEqual(judge(purity, OPERATION, "setTimeout(() => {}, 1);"), []);
  assert.deepEqual(judge(purity, house("core/request.test.ts"), "Date.now();"), []);
});

test("only clock.ts and the command line read the clock", () => {
  assert.deepEqual(judge(injectedClock, OPERATION, "Date.now();"), [
    "1: Date.now outside clock.ts: use the Clock",
  ]);
  assert.deepEqual(judge(injectedClock, "packages/sdk/src/gate.ts", "new Date();"), [
    "1: new Date() outside clock.ts: use the Clock",
  ]);
  assert.deepEqual(judge(injectedClock, house("clock.ts"), "Date.now();"), []);
  assert.deepEqual(judge(injectedClock, "packages/cli/src/watch.ts", "Date.now();"), []);
  assert.deepEqual(judge(injectedClock, "packages/server/test/poll.test.ts", "Date.now();"), []);
  assert.deepEqual(judge(injectedClock, "bench/bench.ts", "Date.now();"), []);
});

test("Math.random is nowhere in the packages", () => {
  for (const path of [OPERATION, house("clock.ts"), "packages/cli/src/watch.ts"]) {
    assert.deepEqual(judge(injectedClock, path, "const n = Math.random();"), [
      "1: Math.random: use the injected Random",
    ]);
  }
});

test("the environment is read by the config reader and the command line", () => {
  const message = "1: process.env outside the config reader: add an option to the table";
  const reads = [
    "process.env.PATH;",
    'process["env"];',
    'import { env } from "node:process";',
    "const { env } = process;",
  ];
  for (const text of reads) {
    assert.deepEqual(judge(environmentOnce, OPERATION, text), [message], text);
    assert.deepEqual(judge(environmentOnce, house("config/read-config.ts"), text), []);
    assert.deepEqual(judge(environmentOnce, "packages/cli/src/serve.ts", text), []);
    assert.deepEqual(judge(environmentOnce, "packages/server/test/cli.test.ts", text), []);
  }
  assert.deepEqual(judge(environmentOnce, house("config/options.ts"), "process.env;"), [message]);
  assert.deepEqual(judge(environmentOnce, OPERATION, "process.pid; context.env;"), []);
});

test("a server reaches others through the egress client alone", () => {
  const message = "1: fetch: the egress client is the only way out";
  assert.deepEqual(judge(oneEgress, OPERATION, 'fetch("https://example.com");'), [message]);
  assert.deepEqual(judge(oneEgress, house("notify/mail.ts"), "new WebSocket(url);"), [
    "1: WebSocket: the egress client is the only way out",
  ]);
  const builtin = 'process.getBuiltinModule("node:https");';
  assert.deepEqual(judge(oneEgress, OPERATION, builtin), [
    "1: process.getBuiltinModule passes the fences",
  ]);
  assert.deepEqual(judge(oneEgress, house("egress/pinned-connection.ts"), builtin), []);
  assert.deepEqual(judge(oneEgress, house("egress/deadline.test.ts"), "fetch(url);"), []);
  const named = house("oidc/provider-fetch.ts");
  assert.deepEqual(judge(oneEgress, named, "fetch(url);"), []);
  assert.equal(judge(oneEgress, named, "new WebSocket(url);").length, 1);
  assert.deepEqual(judge(oneEgress, house("oidc/openid-provider.ts"), "fetch(url);"), [message]);
});
