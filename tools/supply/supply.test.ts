import assert from "node:assert/strict";
import { test } from "node:test";
import { type LockedPackage, lockfileFaults } from "./lockfile-rules.ts";
import { readBill, withoutDevelopment } from "./sbom.ts";
import { faultsHere, readAudit } from "./supply.ts";

const GOOD: LockedPackage = {
  version: "1.0.0",
  resolved: "https://packages.example/yaml/-/yaml-1.0.0.tgz",
  integrity: "sha512-AAAA",
  license: "MIT",
};

function faultsOf(change: LockedPackage, allowed = {}): readonly string[] {
  const packages = { "": {}, "packages/cli": {}, "node_modules/yaml": { ...GOOD, ...change } };
  return lockfileFaults({ packages }, allowed);
}

test("every package has a digest, and no shipped package has an install script", () => {
  assert.deepEqual(faultsHere(), []);
});

test("every violation of the lockfile rules is listed", () => {
  assert.deepEqual(faultsOf({}), []);
  assert.deepEqual(faultsOf({ dev: true, license: "GPL-3.0", hasInstallScript: true }), []);
  assert.match(faultsOf({ integrity: "sha1-x" }).join(), /yaml@1.0.0 has no sha512/);
  assert.match(faultsOf({ resolved: "git+ssh://a/b.git" }).join(), /not a package of a registry/);
  assert.match(faultsOf({ license: "SSPL-1.0" }).join(), /under SSPL-1.0/);
  assert.match(faultsOf({ hasInstallScript: true }).join(), /runs a script/);
  assert.match(faultsOf({}, { yaml: true }).join(), /allowed a script it has not/);
  assert.match(faultsOf({ deprecated: "Use b." }).join(), /yaml@1.0.0 is deprecated: Use b\./);
  const engines = { node: "^20.19.0 || >=24" };
  assert.match(faultsOf({ engines }).join(), /^yaml@1.0.0 does not support Node 22\.\d+\.0$/);
  assert.deepEqual(faultsOf({ engines, optional: true }), []);
  const elsewhere = { ...GOOD, resolved: "https://other.example/a.tgz" };
  const packages = { "node_modules/a": GOOD, "node_modules/a/node_modules/b": elsewhere };
  assert.match(lockfileFaults({ packages }, {}).join(), /from 2 places/);
});

test("a failed audit is distinguished from one without findings", () => {
  assert.equal(readAudit('{"metadata":{"vulnerabilities":{"high":1,"critical":2,"low":9}}}'), 3);
  assert.equal(readAudit('{"metadata":{"vulnerabilities":{"high":0,"critical":0}}}'), 0);
  for (const none of ["", "{}", '{"error":{"summary":"405"}}', "<html>"]) {
    assert.equal(readAudit(none), undefined);
  }
});

test("the bill of materials lists what is shipped, also if development needs it too", () => {
  const names = new Set(
    readBill().components.map((each) => each["bom-ref"].replace(/@[^@]+$/, "")),
  );
  for (const shipped of ["fastify", "pg", "zod", "@modelcontextprotocol/sdk"]) {
    assert.ok(names.has(shipped), shipped);
  }
  for (const tool of ["vite", "@biomejs/biome", "publint"]) assert.ok(!names.has(tool), tool);
  const properties = [{ name: "cdx:npm:package:development", value: "true" }];
  const bill = {
    components: [{ "bom-ref": "a@1" }, { "bom-ref": "b@1", properties }],
    dependencies: [
      { ref: "a@1", dependsOn: ["b@1"] },
      { ref: "b@1", dependsOn: [] },
    ],
  };
  assert.deepEqual(withoutDevelopment(bill), {
    components: [{ "bom-ref": "a@1" }],
    dependencies: [{ ref: "a@1", dependsOn: [] }],
  });
});
