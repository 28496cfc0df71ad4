import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  claimAt,
  conditionFault,
  findRule,
  missingOwnerClaims,
  parseNameTemplate,
  TemplateFault,
  targetOf,
  type WorkloadRule,
} from "./workload-rule.ts";

const RULE: WorkloadRule = {
  name: "ci",
  issuer: "github",
  conditions: [{ claim: "repository", pattern: "acme/*" }],
  project: "default",
  instance: parseNameTemplate("ci-{repository}"),
  groups: [],
  lifetimeMs: 1,
};

test("[ours.workload.rules] a rule matches one issuer and all its claims", () => {
  const claims = { repository: "acme/deploy" };
  assert.deepEqual(findRule([RULE], "github", claims, undefined), { kind: "one", rule: RULE });
  assert.equal(findRule([RULE], "gitlab", claims, undefined).kind, "none");
  assert.equal(findRule([RULE], "github", claims, "other").kind, "none");
  assert.equal(
    findRule([RULE, { ...RULE, name: "b" }], "github", claims, undefined).kind,
    "several",
  );
  assert.equal(findRule([RULE, { ...RULE, name: "b" }], "github", claims, "ci").kind, "one");
});

test("[ours.workload.rules] * matches one or more characters of one part of a value", () => {
  const matches = (pattern: string, value: string) => {
    const rule = { ...RULE, conditions: [{ claim: "a", pattern }] };
    return findRule([rule], "github", { a: value }, undefined).kind === "one";
  };
  assert.ok(matches("acme/*", "acme/x"));
  assert.ok(matches("repo:acme/*:ref:main", "repo:acme/x:ref:main"));
  assert.ok(matches("a*a", "aba"));
  for (const [pattern, value] of [
    ["acme/*", "acme/"],
    ["acme/*", "acme/x/y"],
    ["acme/*", "acme/x:y"],
    ["repo:acme/*:ref:main", "repo:acme/x:environment:y:ref:main"],
    ["a*a", "a"],
    ["a*a", "aa"],
    ["acme", "acmes"],
  ] as const) {
    assert.ok(!matches(pattern, value), `${pattern} ${value}`);
  }
});

test("[ours.workload.rules] a path finds nested claims, and names that contain a slash", () => {
  const claims = { "kubernetes.io": { pod: { name: "p" } }, "https://a.b/c": 7, list: ["x"] };
  assert.equal(claimAt(claims, "kubernetes.io/pod/name"), "p");
  assert.equal(claimAt(claims, "https://a.b/c"), "7");
  for (const path of ["kubernetes.io/pod", "kubernetes.io/pod/name/x", "list", "list/0/x", ""]) {
    assert.equal(claimAt(claims, path), undefined, path);
  }
  for (const path of ["list/0", "list/length"]) {
    assert.equal(claimAt(claims, path), undefined, path);
  }
  for (const path of ["constructor/name", "__proto__/x", "toString"]) {
    assert.equal(claimAt({}, path), undefined, path);
  }
});

test("[ours.workload.instance] a number that JavaScript rounds is not a value of a claim", () => {
  const claimed = (json: string) => claimAt(JSON.parse(json), "id");
  assert.equal(claimed('{"id":9007199254740991}'), "9007199254740991");
  for (const text of ["9007199254740992", "9007199254740993", "1e400", "0.1"]) {
    assert.equal(claimed(`{"id":${text}}`), undefined, text);
  }
});

test("[ours.workload.instance] templates for which two tokens could share a name are rejected", () => {
  for (const text of ["{a}{b}", "{a}-{b}", "{a}/{b}", "{a}%{b}", "{a", "a}", "{}", " ", "{{a}}"]) {
    assert.throws(() => parseNameTemplate(text), TemplateFault, text);
  }
  for (const text of ["ci", "{a}", "ci-{a}", "{a} {b}", "{a}-#-{b}"]) parseNameTemplate(text);
});

test("[ours.workload.instance] different values always have different names", () => {
  const rule = { ...RULE, instance: parseNameTemplate("x-{a}/# {b}+{c}") };
  const value = fc.string({ minLength: 1, unit: fc.constantFrom(..."ab/#% +é{}") });
  const values = fc.record({ a: value, b: value, c: value });
  fc.assert(
    fc.property(values, values, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      assert.equal(targetOf(rule, one)?.name === targetOf(rule, other)?.name, isSame);
    }),
  );
});

test("[ours.workload.instance] a token without a claim of the name has no instance", () => {
  assert.equal(targetOf(RULE, {}), undefined);
  assert.equal(targetOf(RULE, { repository: "" }), undefined);
  assert.deepEqual(targetOf(RULE, { repository: "a b" })?.name, "ci-a%20b");
});

test("[ours.workload.rules] a rule for a public issuer must name its owner", () => {
  const github = "https://token.actions.githubusercontent.com";
  const isComplete = (claim: string, pattern: string, issuer = github) =>
    missingOwnerClaims(issuer, [{ claim, pattern }]) === undefined;
  assert.ok(isComplete("repository", "acme/*"));
  assert.ok(isComplete("repository_owner", "acme"));
  assert.ok(isComplete("sub", "repo:acme/*:ref:refs/heads/main"));
  assert.ok(isComplete("project_path", "acme/x", "https://gitlab.com"));
  assert.ok(isComplete("ref", "x", "https://issuer.internal"));
  for (const [issuer, shared, owner] of [
    ["https://agent.buildkite.com", "pipeline_slug", "organization_slug"],
    ["https://app.terraform.io", "terraform_workspace_name", "terraform_organization_name"],
    ["https://accounts.google.com", "email_verified", "email"],
  ] as const) {
    assert.ok(!isComplete(shared, "x", issuer), issuer);
    assert.ok(isComplete(owner, "x", issuer), issuer);
  }
  for (const [claim, pattern] of [
    ["ref", "refs/heads/main"],
    ["repository", "acme*"],
    ["repository", "a*/deploy"],
    ["repository_owner", "acme*"],
    ["sub", "repo:*"],
    ["sub", "repo:a*/b:ref:refs/heads/main"],
  ] as const) {
    assert.ok(!isComplete(claim, pattern), `${claim} ${pattern}`);
    assert.ok(!isComplete(claim, pattern, `${github}/acme`), `${claim} ${pattern}`);
  }
});

test("[ours.workload.rules] a condition that restricts nothing is rejected", () => {
  assert.equal(conditionFault({ claim: "sub", pattern: "a*" }), undefined);
  for (const [claim, pattern] of [
    ["iss", "https://a"],
    ["sub", ""],
    ["sub", "*"],
    ["sub", "*a"],
    ["sub", "a*b*"],
  ] as const) {
    assert.ok(conditionFault({ claim, pattern }), `${claim} ${pattern}`);
  }
});
