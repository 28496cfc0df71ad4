import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stringify } from "yaml";
import { readWorkloadSettings } from "./workload-settings.ts";

const GITHUB = {
  name: "github",
  issuer: "https://token.actions.githubusercontent.com",
  audience: "https://countersign.example.com",
};

const RULE = {
  name: "ci",
  issuer: "github",
  claims: { repository: "acme/deploy" },
  instance: "ci-{repository}",
};

function write(t: TestContext, content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-workload-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "workloads.yaml");
  writeFileSync(file, typeof content === "string" ? content : stringify(content));
  writeFileSync(join(folder, "keys.json"), '{"keys":[{"kty":"RSA"}]}');
  return file;
}

function read(t: TestContext, content: unknown, isProduction = true) {
  const faults: string[] = [];
  const settings = readWorkloadSettings(write(t, content), isProduction, faults);
  return { settings, faults };
}

test("[ours.workload.rules] the file has defaults for the project, the lifetime and the algorithms", (t) => {
  const { settings, faults } = read(t, { issuers: [GITHUB], rules: [RULE] });
  assert.deepEqual(faults, []);
  const [issuer] = settings?.issuers ?? [];
  assert.equal(issuer?.tokenAgeMsMax, 3_600_000);
  assert.ok(issuer?.algorithms.every((name) => !name.startsWith("HS") && name !== "none"));
  const [rule] = settings?.rules ?? [];
  assert.deepEqual([rule?.project, rule?.lifetimeMs, rule?.groups], ["default", 3_600_000, []]);
  assert.equal(readWorkloadSettings(undefined, true, []), undefined);
});

const CLUSTER = { name: "cluster", issuer: "https://kubernetes.default.svc", audience: "a" };
const MESH = { name: "mesh", issuer: "spiffe://example.org", audience: "a" };

test("[ours.workload.rules] a file of keys is relative to the file of the setting", (t) => {
  const issuers = [
    { ...CLUSTER, jwks_file: "keys.json" },
    { ...MESH, jwks_file: "keys.json" },
  ];
  const claims = { "kubernetes.io/namespace": "agents" };
  const rules = [{ ...RULE, issuer: "cluster", claims }];
  const { settings, faults } = read(t, { issuers, rules });
  assert.deepEqual(faults, []);
  assert.match(settings?.issuers[0]?.jwksFile ?? "", /^\/.*\/keys\.json$/);
});

const FAULTS: readonly (readonly [string, unknown, RegExp])[] = [
  ["no YAML", "issuers: [", /flow/i],
  ["a duplicate key", "issuers: []\nissuers: []\n", /unique/],
  ["no issuers", { issuers: [], rules: [RULE] }, /issuers: must not be empty/],
  ["an unknown field", { issuers: [{ ...GITHUB, secret: "s" }], rules: [RULE] }, /secret/],
  [
    "an HMAC algorithm",
    { issuers: [{ ...GITHUB, algorithms: ["HS256"] }], rules: [RULE] },
    /HS256/,
  ],
  ["no audience", { issuers: [{ ...GITHUB, audience: "" }], rules: [RULE] }, /audience/],
  [
    "an issuer without TLS",
    { issuers: [{ ...GITHUB, issuer: "http://localhost:1" }], rules: [RULE] },
    /must start with https/,
  ],
  ["a trust domain without keys", { issuers: [GITHUB, MESH], rules: [RULE] }, /requires jwks_file/],
  [
    "a missing file of keys",
    { issuers: [GITHUB, { ...CLUSTER, jwks_file: "no.json" }], rules: [RULE] },
    /jwks_file: .*no\.json/,
  ],
  [
    "an issuer twice",
    { issuers: [GITHUB, { ...GITHUB, name: "b" }], rules: [RULE] },
    /same issuer/,
  ],
  ["a name twice", { issuers: [GITHUB], rules: [RULE, RULE] }, /the name ci is used twice/],
  ["an unknown issuer", { issuers: [GITHUB], rules: [{ ...RULE, issuer: "b" }] }, /no issuer/],
  ["no claims", { issuers: [GITHUB], rules: [{ ...RULE, claims: {} }] }, /at least one claim/],
  [
    "a rule for all of GitHub",
    { issuers: [GITHUB], rules: [{ ...RULE, claims: { ref: "refs/heads/main" } }] },
    /name your organization in one of repository/,
  ],
  [
    "an ambiguous name",
    { issuers: [GITHUB], rules: [{ ...RULE, instance: "{repository}-{ref}" }] },
    /instance: separate two claims/,
  ],
  [
    "an endless credential",
    { issuers: [GITHUB], rules: [{ ...RULE, lifetime: "25h" }] },
    /lifetime: must be a duration from 1m to 24h/,
  ],
  ["a wrong group", { issuers: [GITHUB], rules: [{ ...RULE, groups: ["A b"] }] }, /groups/],
];

for (const [what, content, expected] of FAULTS) {
  test(`[ours.workload.rules] a file with ${what} is rejected`, (t) => {
    const { settings, faults } = read(t, content);
    assert.equal(settings, undefined);
    assert.match(faults.join("\n"), expected);
  });
}

test("[ours.workload.rules] a file that every user can change is rejected", (t) => {
  const file = write(t, { issuers: [GITHUB], rules: [RULE] });
  chmodSync(file, 0o666);
  const faults: string[] = [];
  assert.equal(readWorkloadSettings(file, true, faults), undefined);
  assert.match(faults.join(), /chmod o-w/);
});
