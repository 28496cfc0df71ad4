import assert from "node:assert/strict";
import test from "node:test";
import { judge, serverPath } from "./fixture.ts";
import {
  calledOperations,
  featureDirections,
  featureFolders,
  importDirections,
  pureImports,
} from "./import-rules.ts";
import { PACKAGES, ROOMS } from "./import-table.ts";
import { parseSources } from "./source.ts";

function imports(path: string, specifier: string): string[] {
  return judge(importDirections, path, `import { it } from "${specifier}";`);
}

function importsType(path: string, specifier: string): string[] {
  return judge(importDirections, path, `import type { It } from "${specifier}";`);
}

test("packages import each other in one direction", () => {
  assert.deepEqual(imports(serverPath("core/request.ts"), "@countersign/protocol"), []);
  assert.deepEqual(imports("packages/cli/src/serve.ts", "@countersign/server"), []);
  assert.deepEqual(imports("packages/agent-hooks/src/gate.ts", "@countersign/sdk"), []);
  assert.deepEqual(imports("packages/conformance/src/kit.ts", "@countersign/server"), [
    "1: package conformance may not import server (it may import command-line, protocol)",
  ]);
  assert.deepEqual(importsType("packages/sdk/src/gate.ts", "@countersign/server/context"), [
    "1: package sdk may not import server (it may import protocol)",
  ]);
  assert.deepEqual(imports("packages/console/src/inbox.tsx", "@countersign/protocol"), []);
  assert.deepEqual(imports("packages/console/src/inbox.tsx", "@countersign/server"), [
    "1: package console may not import server (it may import protocol, review-api)",
  ]);
  assert.deepEqual(imports(serverPath("core/request.ts"), "countersign"), [
    "1: package server may not import cli (it may import agents, protocol, review-api)",
  ]);
});

test("protocol imports only itself", () => {
  const path = "packages/protocol/src/signature.ts";
  assert.deepEqual(imports(path, "./problems.ts"), []);
  assert.deepEqual(imports(path, "yaml"), ['1: package protocol imports only itself, not "yaml"']);
  assert.deepEqual(imports(path, "node:fs"), [
    '1: package protocol imports only itself, not "node:fs"',
  ]);
});

test("the core of the SDK imports nothing that is not everywhere; its subpaths may", () => {
  const subpaths =
    "file-store.ts, node.ts, ai.ts, claude-agent-sdk.ts, langchain.ts, mastra.ts, mcp.ts, " +
    "openai-agents.ts";
  const message = (module: string) => [
    `1: package sdk imports from outside in ${subpaths} only, not "${module}"`,
  ];
  assert.deepEqual(imports("packages/sdk/src/gate.ts", "./client.ts"), []);
  assert.deepEqual(imports("packages/sdk/src/gate.ts", "node:fs"), message("node:fs"));
  assert.deepEqual(importsType("packages/sdk/src/index.ts", "zod"), message("zod"));
  assert.deepEqual(imports("packages/sdk/src/file-store.ts", "node:fs/promises"), []);
  assert.deepEqual(imports("packages/sdk/src/node.ts", "node:http"), []);
  assert.equal(imports("packages/sdk/src/file-store.ts", "node:http").length, 1);
  assert.deepEqual(imports("packages/sdk/test/gate.test.ts", "node:fs"), []);
});

test("another package is imported by name, also by a test", () => {
  const message = ["1: imports package protocol by path; import it by name"];
  const path = "../../../protocol/src/index.ts";
  assert.deepEqual(imports(serverPath("core/request.ts"), path), message);
  assert.deepEqual(imports(serverPath("core/request.test.ts"), path), message);
  assert.deepEqual(imports("packages/server/test/poll.test.ts", "../../protocol/src/json.ts"), [
    ...message,
  ]);
});

test("tests import internals of the server by path; other code does not", () => {
  const path = "../../server/src/clock.ts";
  assert.deepEqual(imports("packages/sdk/test/gate.test.ts", path), []);
  assert.equal(imports("packages/sdk/src/gate.ts", path).length, 1);
});

test("nothing in packages imports the tools, but tests do", () => {
  assert.deepEqual(imports(serverPath("core/request.ts"), "../../../../tools/tidy/tidy.ts"), [
    '1: leaves packages/ with "../../../../tools/tidy/tidy.ts"',
  ]);
  assert.deepEqual(imports("packages/cli/test/a.test.ts", "../../../tools/tidy/tidy.ts"), []);
});

test("core and policy import protocol alone", () => {
  assert.deepEqual(imports(serverPath("core/request.ts"), "./replay.ts"), []);
  assert.deepEqual(imports(serverPath("core/request.ts"), "../policy/rule.ts"), [
    "1: core may not import policy",
  ]);
  assert.deepEqual(importsType(serverPath("policy/rule.ts"), "../core/request.ts"), [
    "1: policy may not import core",
  ]);
  assert.deepEqual(importsType(serverPath("core/request.ts"), "../clock.ts"), [
    "1: core may not import clock",
  ]);
});

test("operations speak about any room, and call those below", () => {
  const path = serverPath("operations/requests/createApprovalRequest.ts");
  for (const room of ["core", "policy", "storage", "audit", "secrets", "wake", "context"]) {
    assert.deepEqual(imports(path, `../../${room}/it.ts`), []);
  }
  assert.deepEqual(importsType(path, "../../report.ts"), []);
  assert.deepEqual(imports(path, "../../report.ts"), [
    "1: operations may import report as types only",
  ]);
  for (const room of ["http", "review", "workers"]) {
    assert.deepEqual(importsType(path, `../../${room}/it.ts`), [
      `1: operations may not import ${room}`,
    ]);
  }
});

test("operations call steps, and no other room does", () => {
  const step = "../../steps/requests/resolveRequest.ts";
  assert.deepEqual(imports(serverPath("operations/requests/castVerdict.ts"), step), []);
  for (const room of ["http", "review", "workers", "outbox", "gauges", "storage", "identity"]) {
    const message = [`1: ${room} may not import steps`];
    assert.deepEqual(imports(serverPath(`${room}/requests/it.ts`), step), message);
    assert.deepEqual(importsType(serverPath(`${room}/requests/it.ts`), step), message);
  }
  const path = serverPath("steps/requests/resolveRequest.ts");
  assert.deepEqual(imports(path, "../../audit/append-audit.ts"), []);
  assert.deepEqual(importsType(path, "../../operations/requests/castVerdict.ts"), [
    "1: steps may not import operations",
  ]);
});

test("a file in operations that no other room imports is a step", () => {
  const judged = (texts: Readonly<Record<string, string>>) =>
    calledOperations(parseSources(new Map(Object.entries(texts))));
  const operation = serverPath("operations/requests/castVerdict.ts");
  const step = serverPath("operations/requests/recordVote.ts");
  const test = serverPath("operations/requests/recordVote.test.ts");
  const handler = serverPath("review/requests/request-handlers.ts");
  const texts = {
    [operation]: 'import { recordVote } from "./recordVote.ts";',
    [step]: "export function recordVote(): void {}",
    [test]: 'import { recordVote } from "./recordVote.ts";',
    [handler]: 'import { castVerdict } from "../../operations/requests/castVerdict.ts";',
    "tools/simulator/exchange.ts": `import { recordVote } from "../../${step}";`,
  };
  const path = serverPath("steps/requests/recordVote.ts");
  const message = `no other room calls this operation, so it is a step: move it to ${path}`;
  assert.deepEqual(judged(texts), [{ file: step, line: 1, message }]);
  assert.deepEqual(
    judged({
      ...texts,
      [serverPath("index.ts")]: 'export * from "./operations/requests/recordVote.ts";',
    }),
    [],
  );
});

test("http, review and workers call operations and never the store", () => {
  for (const room of ["http", "review", "workers"]) {
    const path = serverPath(`${room}/it.ts`);
    for (const other of ["operations", "core", "context", "report", "config", "identity"]) {
      assert.deepEqual(imports(path, `../${other}/it.ts`), []);
    }
    assert.deepEqual(imports(path, "../storage/store.ts"), [`1: ${room} may not import storage`]);
  }
});

test("storage knows the types of core, and audit knows storage", () => {
  const path = serverPath("storage/sql/requests/requests.ts");
  assert.deepEqual(importsType(path, "../../../core/request.ts"), []);
  assert.deepEqual(imports(path, "../../../core/request.ts"), [
    "1: storage may import core as types only",
  ]);
  assert.deepEqual(imports(path, "../../../operations/requests/expireRequests.ts"), [
    "1: storage may not import operations",
  ]);
  assert.deepEqual(imports(serverPath("audit/append.ts"), "../storage/store.ts"), []);
});

test("provider constructs everything and only index imports it", () => {
  for (const room of ["http/listen.ts", "storage/sqlite/sqlite-store.ts", "wake/local.ts"]) {
    assert.deepEqual(imports(serverPath("provider.ts"), `./${room}`), []);
  }
  assert.deepEqual(imports(serverPath("index.ts"), "./provider.ts"), []);
  const message = ["1: only index.ts imports provider.ts"];
  assert.deepEqual(imports(serverPath("workers/expiry.ts"), "../provider.ts"), message);
  assert.deepEqual(imports("packages/cli/src/serve.ts", "@countersign/server/provider"), message);
});

test("a room is a room by whatever name it is imported", () => {
  assert.deepEqual(imports(serverPath("core/request.ts"), "@countersign/server/storage/store"), [
    "1: core may not import storage",
  ]);
});

test("a package or room without an entry is asked for one", () => {
  assert.deepEqual(imports(serverPath("attic/it.ts"), "../core/request.ts"), [
    "1: room attic has no entry in the import table",
  ]);
  assert.deepEqual(imports("packages/attic/src/it.ts", "@countersign/protocol"), [
    "1: package attic has no entry in the import table",
  ]);
});

test("every way to import is seen", () => {
  const path = serverPath("core/it.ts");
  const message = "core may not import http";
  const text = [
    'import a from "../http/a.ts";',
    'import * as b from "../http/b.ts";',
    'import "../http/c.ts";',
    'export { d } from "../http/d.ts";',
    'export * from "../http/e.ts";',
    'const f = await import("../http/f.ts");',
    'let g: import("../http/g.ts").G;',
    '// import h from "../http/h.ts";',
  ];
  const lines = [1, 2, 3, 4, 5, 6, 7].map((line) => `${line}: ${message}`);
  assert.deepEqual(judge(importDirections, path, text.join("\n")), lines);
});

test("an import is of types only when every part of it is", () => {
  const path = serverPath("operations/it.ts");
  const message = ["1: operations may import report as types only"];
  const of = (text: string): string[] => judge(importDirections, path, `${text} "../report.ts";`);
  assert.deepEqual(of("import type { A, B } from"), []);
  assert.deepEqual(of("import { type A, type B } from"), []);
  assert.deepEqual(of("import type * as a from"), []);
  assert.deepEqual(of("export type { A } from"), []);
  assert.deepEqual(of("import { type A, b } from"), message);
  assert.deepEqual(of("import {} from"), message);
  assert.deepEqual(of("import"), message);
});

test("some modules are known in one place alone", () => {
  assert.deepEqual(imports(serverPath("http/listen.ts"), "fastify"), []);
  assert.deepEqual(imports(serverPath("review/routes.ts"), "@fastify/static"), []);
  assert.deepEqual(imports(serverPath("provider.ts"), "fastify"), []);
  assert.equal(importsType(serverPath("operations/it.ts"), "fastify").length, 1);
  assert.deepEqual(imports(serverPath("storage/sqlite/open-database.ts"), "node:sqlite"), []);
  assert.deepEqual(imports(serverPath("storage/migrate.ts"), "node:sqlite"), [
    '1: "node:sqlite" may be imported in packages/server/src/storage/sqlite/ only',
  ]);
  assert.deepEqual(imports(serverPath("storage/postgres/driver.ts"), "pg"), []);
  assert.deepEqual(imports(serverPath("egress/pinned-connection.ts"), "node:tls"), []);
  assert.deepEqual(imports(serverPath("oidc/openid-provider.ts"), "openid-client"), []);
  for (const room of ["operations", "review", "delivery", "oidc"]) {
    assert.equal(imports(serverPath(`${room}/it.ts`), "openid-client").length, 1, room);
  }
  for (const module of ["node:https", "https", "node:tls", "node:dns/promises", "undici"]) {
    assert.equal(imports(serverPath("operations/it.ts"), module).length, 1, module);
    assert.equal(imports(serverPath("review/routes.ts"), module).length, 1, module);
  }
  assert.deepEqual(imports("packages/cli/src/backup.ts", "pg"), [
    '1: "pg" may be imported in packages/server/src/storage/postgres/ only',
  ]);
});

test("a test may import any room and any module", () => {
  assert.deepEqual(imports("packages/server/test/poll.test.ts", "../src/provider.ts"), []);
  assert.deepEqual(imports("packages/server/test/rig.ts", "node:sqlite"), []);
  assert.deepEqual(imports(serverPath("core/request.test.ts"), "../storage/store.ts"), []);
});

test("the table names only rooms and packages that it has", () => {
  const rooms = Object.keys(ROOMS);
  for (const { values, types } of Object.values(ROOMS)) {
    for (const room of [...values, ...types]) assert.ok(rooms.includes(room), room);
  }
  const packages = Object.keys(PACKAGES);
  for (const entry of Object.values(PACKAGES)) {
    for (const folder of entry.imports) assert.ok(packages.includes(folder), folder);
  }
});

test("a feature imports only the features before it in its room", () => {
  const judged = (path: string, specifier: string) =>
    judge(featureDirections, serverPath(path), `import { it } from "${specifier}";`);
  const request = "operations/requests/castVerdict.ts";
  assert.deepEqual(judged(request, "../policy/activatePolicy.ts"), []);
  assert.deepEqual(judged(request, "./recordVote.ts"), []);
  assert.deepEqual(judged(request, "../freezes/liftFreeze.ts"), [
    "1: operations/requests may not import freezes, which is above it",
  ]);
  assert.deepEqual(judged("steps/people/assertPeopleRemain.ts", "../sign-in/makeLink.ts"), [
    "1: steps/people may not import sign-in, which is above it",
  ]);
  assert.deepEqual(judged("storage/sql/policy/policy-versions.ts", "../sign-in/sessions.ts"), [
    "1: storage/sql/policy may not import sign-in, which is above it",
  ]);
  assert.deepEqual(judged(request, "../../storage/sql/sign-in/sessions.ts"), []);
  assert.deepEqual(judged("operations/requests/castVerdict.test.ts", "../freezes/it.ts"), []);
});

test("a feature folder has at most 30 files and is in the import table", () => {
  const files = (folder: string, count: number) =>
    Array.from({ length: count }, (_, i) => serverPath(`${folder}/file${i}.ts`));
  assert.deepEqual(featureFolders(files("operations/requests", 30)), []);
  const messages = (paths: string[]) => featureFolders(paths).map(({ message }) => message);
  assert.deepEqual(messages(files("operations/requests", 31)), [
    "operations/requests has 31 files; a feature has at most 30",
  ]);
  assert.deepEqual(messages(files("review/new", 1)), ["review/new is not in the import table"]);
  const tests = [serverPath("operations/requests/it.test.ts")];
  assert.deepEqual(messages([...files("operations/requests", 30), ...tests]), []);
});

test("core and policy import no module with time, chance or input", () => {
  const judged = (text: string, path = serverPath("core/request.ts")) =>
    judge(pureImports, path, text);
  for (const module of ["node:fs", "node:net", "node:timers/promises", "node:process"]) {
    assert.deepEqual(judged(`import { it } from "${module}";`), [
      `1: core/ and policy/ are pure: no import of "${module}"`,
    ]);
  }
  assert.deepEqual(judged('import { randomUUID } from "node:crypto";'), [
    '1: core/ and policy/ are pure: no randomUUID of "node:crypto"',
  ]);
  assert.equal(judged('import * as crypto from "node:crypto";').length, 1);
  assert.deepEqual(judged('import { createHash } from "node:crypto";'), []);
  const vm = 'import { Script } from "node:vm";';
  assert.deepEqual(judged(vm, serverPath("policy/time-limit.ts")), []);
  assert.equal(judged(vm, serverPath("policy/evaluate.ts")).length, 1);
  assert.deepEqual(judged('import "node:fs";', serverPath("core/request.test.ts")), []);
  assert.deepEqual(judged('import "node:fs";', serverPath("http/it.ts")), []);
});
