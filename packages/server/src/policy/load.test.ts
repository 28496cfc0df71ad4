import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { ProblemFinding } from "@countersign/protocol";
import { loadPolicy, PolicyError } from "./load.ts";
import type { LoadOptions } from "./rule.ts";

function findingsOf(
  source: string,
  options: LoadOptions = { kind: "project" },
): readonly ProblemFinding[] {
  try {
    loadPolicy(source, options);
  } catch (error) {
    assert.ok(error instanceof PolicyError, String(error));
    return error.findings;
  }
  return [];
}

function locations(findings: readonly ProblemFinding[]): string[] {
  return findings.map(({ line, column, path }) => `${line}:${column} ${path}`);
}

/** The findings of one rule, written in YAML's flow style. */
function ofRule(rule: string, options?: LoadOptions): string[] {
  const findings = findingsOf(`version: 1\nrules:\n  - { ${rule} }\n`, options);
  return findings.map(({ path, message }) => `${path}: ${message}`);
}

const FULL = `version: 1
rules:
  - id: small-refunds
    match: { tool: ["stripe.refund*"], instance: { group: support-bots, id: x, name: "bot-*" } }
    when: args.amount < 5000
    then: approve
    note: Small refunds need no reviewer.
    valid_for: 2m
  - id: schema
    match: { tool: db.alter }
    then: ask
    ask:
      from: [group:dba, reviewer:ana]
      quorum: 2
      exclude: [owner]
      confirm: type(args.repo)
      note: required
      within: 30m
      grants: false
tests:
  - name: a small refund
    given: { tool: stripe.refund, args: { amount: 1 }, instance: { group: support-bots, id: x } }
    expect: { then: ask }
`;

test("a whole policy is read, and named by the hash of its source", () => {
  const policy = loadPolicy(FULL, { kind: "project" });
  assert.equal(policy.sha256, createHash("sha256").update(FULL).digest("hex"));
  assert.equal(policy.source, FULL);
  const [refunds, schema] = policy.rules;
  assert.deepEqual([refunds?.id, refunds?.line, refunds?.verb], ["small-refunds", 3, "approve"]);
  assert.equal(refunds?.validityMs, 120_000);
  assert.deepEqual(schema?.ask?.from, ["group:dba", "reviewer:ana"]);
  assert.equal(schema?.ask?.withinMs, 1_800_000);
  assert.equal(policy.tests[0]?.line, 21);
  assert.deepEqual(policy.warnings, []);
});

test("[ours.policy.findings] all faults are reported together, with line, column and path", () => {
  const source = `version: 2
ruls: []
rules:
  - id: Bad
    then: aprove
    when: args.amount < && 3
  - id: b
    then: ask
    when: |
      args.x == 1 ||
        args.s.matches("x")
    ask: { quorum: 20, within: 2 days }
  - id: b
    then: deny
tests:
  - given: { tool: x, args: { n: 0x1F } }
    expect: { then: ask, because: nobody }
`;
  assert.deepEqual(locations(findingsOf(source)), [
    "1:10 version",
    "2:1 ruls",
    "4:9 rules[0].id",
    "5:11 rules[0].then",
    "6:25 rules[0].when",
    "11:9 rules[1].when",
    "12:20 rules[1].ask.quorum",
    "12:32 rules[1].ask.within",
    "13:5 rules[2]",
    "16:34 tests[0].given.args.n",
    "17:35 tests[0].expect.because",
  ]);
});

test("[ours.policy.findings] a fault in a quoted condition has its own position", () => {
  const source = 'version: 1\nrules:\n  - { id: a, then: deny, when: "true && foo(1)" }\n';
  assert.deepEqual(locations(findingsOf(source)), ["3:41 rules[0].when"]);
  const escaped = 'version: 1\nrules:\n  - { id: a, then: deny, when: "foo(\\"1\\")" }\n';
  assert.deepEqual(locations(findingsOf(escaped)), ["3:32 rules[0].when"]);
});

test("[ours.policy.yaml] aliases, anchors, tags, merges and second documents are refused", () => {
  const cases = [
    "version: 1\nrules: &all []\n",
    "version: 1\nrules:\n  - { id: a, then: deny }\n  - *a\n",
    "version: 1\nrules:\n  - &a { id: a, then: deny }\n",
    "version: !!int 1\nrules: []\n",
    "version: 1\nrules: !!seq []\n",
    "version: 1\nrules:\n  - { id: !x a, then: deny }\n",
    "version: 1\nrules: []\n---\nversion: 1\nrules: []\n",
    "version: 1\nrules:\n  - { <<: { id: a }, then: deny }\n",
    "version: 1\nversion: 1\nrules: []\n",
    "version: 1\nrules:\n  - { id: a, then: deny, then: deny }\n",
    "version: 1\nrules:\n  - { ? [a] : 1, id: a, then: deny }\n",
    "version: 1\nrules: [\n",
    "version: 1\nrules:\n\t- a\n",
    "%YAML 1.1\n%TAG ! tag:x,2000:\n---\nversion: 1\nrules: [!a b]\n",
  ];
  for (const source of cases) assert.ok(findingsOf(source).length > 0, source);
});

test("[ours.policy.yaml] a document that is not a policy gets findings, never another error", () => {
  const odd = [
    "",
    "   ",
    "null",
    "5",
    "[]",
    "text",
    "version: 1",
    "rules: []",
    "a: b: c",
    "\0",
    "- ",
  ];
  for (const source of odd) assert.ok(findingsOf(source).length > 0, JSON.stringify(source));
  const deep = [
    "[".repeat(100_000),
    "{".repeat(100_000),
    "- ".repeat(100_000),
    "? ".repeat(50_000),
  ];
  for (const source of deep) assert.ok(findingsOf(source).length > 0);
  assert.ok(findingsOf(`version: 1\nrules: [] # ${"x".repeat(256 * 1024)}`).length === 1);
});

test("[ours.policy.yaml] a policy has at most 1,000 rules and 1,000 tests", () => {
  const rules = Array.from({ length: 1_000 }, (_, i) => `  - { id: r${i}, then: deny }`);
  const source = `version: 1\nrules:\n${rules.join("\n")}\n`;
  assert.deepEqual(findingsOf(source), []);
  assert.equal(findingsOf(`${source}  - { id: more, then: deny }\n`).length, 1);
  const tests = Array.from(
    { length: 1_001 },
    () => "  - { given: { tool: a }, expect: { then: ask } }",
  );
  assert.equal(findingsOf(`version: 1\nrules: []\ntests:\n${tests.join("\n")}\n`).length, 1);
});

test("every key of a rule is checked", () => {
  const faulty = [
    "then: deny",
    "id: a",
    "id: '', then: deny",
    "id: a_b, then: deny",
    "id: error, then: deny",
    "id: no-match, then: deny",
    "id: 5, then: deny",
    `id: ${"a".repeat(65)}, then: deny`,
    "id: a, then: deny, whne: 'true'",
    "id: a, then: deny, when: true",
    "id: a, then: deny, when: ",
    "id: a, then: deny, when: ''",
    "id: a, then: deny, note: ''",
    `id: a, then: deny, note: ${"x".repeat(1_001)}`,
    "id: a, then: deny, valid_for: 2m",
    "id: a, then: ask, valid_for: 2 minutes",
    "id: a, then: ask, valid_for: 0s",
    `id: a, then: ask, valid_for: ${"9".repeat(400)}h`,
    "id: a, then: deny, ask: {}",
    "id: a, then: deny, match: []",
    "id: a, then: deny, match: { tools: x }",
    "id: a, then: deny, match: { tool: [] }",
    "id: a, then: deny, match: { tool: 5 }",
    "id: a, then: deny, match: { tool: 'a\\' }",
    "id: a, then: deny, match: { instance: bot }",
    "id: a, then: deny, match: { instance: { groups: x } }",
    "id: a, then: ask, ask: { quorum: 0 }",
    "id: a, then: ask, ask: { quorum: 11 }",
    "id: a, then: ask, ask: { quorum: 1.5 }",
    "id: a, then: ask, ask: { quorum: '2' }",
    "id: a, then: ask, ask: { from: dba }",
    "id: a, then: ask, ask: { from: [] }",
    "id: a, then: ask, ask: { from: [user:ana] }",
    "id: a, then: ask, ask: { from: ['group:'] }",
    "id: a, then: ask, ask: { from: [reviewer:ana], quorum: 2 }",
    "id: a, then: ask, ask: { exclude: [ana] }",
    "id: a, then: ask, ask: { confirm: type }",
    "id: a, then: ask, ask: { confirm: type() }",
    "id: a, then: ask, ask: { confirm: type(1) }",
    "id: a, then: ask, ask: { confirm: double-click }",
    "id: a, then: ask, ask: { note: maybe }",
    "id: a, then: ask, ask: { within: 1d }",
    "id: a, then: ask, ask: { grants: no }",
  ];
  for (const rule of faulty) assert.equal(ofRule(rule).length, 1, rule);
});

const PROVED = [
  "match: { tool: pay }",
  'match: { tool: ["db.*", pay] }',
  "match: { instance: { group: bots } }",
  "match: { instance: { id: x } }",
  'match: { tool: "*" }',
  'match: { tool: "*" }, when: "args.n < 5"',
  'match: { tool: "*" }, when: "hour(now, \'UTC\') < 9"',
  'when: "args.n < 5"',
  "when: \"tool == 'pay'\"",
  "when: \"'bots' in instance.groups\"",
  "when: \"instance.id == 'x'\"",
  'when: "context.a == 1 && args.n < 5"',
  "when: \"args.n < 5 || tool == 'pay'\"",
  'when: "!(args.n > 5 || context.a == 1)"',
  "when: \"context.a == 1 ? args.n < 5 : tool == 'pay'\"",
  'match: { instance: { name: x } }, when: "args.n < 5"',
  'match: { tool: pay, instance: { name: x } }, when: "context.a == 1"',
];
const UNPROVED = [
  "note: nothing",
  'when: "true"',
  "when: \"hour(now, 'UTC') < 9\"",
  "match: { instance: { name: x } }",
  'match: { tool: "*", instance: { name: x } }',
  'match: { tool: ["*", pay], instance: { name: x } }',
  'match: { tool: "**" }, when: "context.a == 1"',
  'match: { tool: "?*" }, when: "has(context.a)"',
  'match: { tool: "*" }, when: "instance.name == \'x\'"',
  'when: "context.a == 1"',
  "when: \"instance.name == 'x'\"",
  ...[
    "instance['name'] == 'x'",
    "dyn(instance).name == 'x'",
    "[instance][0].name == 'x'",
    "{'a': instance}.a.name == 'x'",
    "[instance].exists(i, i.name == 'x')",
    "(true ? instance : instance).name == 'x'",
  ].flatMap((when) => [`when: "${when}"`, `match: { tool: "*" }, when: "${when}"`]),
  'when: "args.n < 5 || context.a == 1"',
  "when: \"(args.n < 5 || context.a == 1) && now > timestamp('2026-01-01T00:00:00Z')\"",
  'when: "!(args.n > 5 && context.a == 1)"',
  'when: "context.a == 1 ? args.n < 5 : context.b == 1"',
  'when: "args.n < 5 ? context.a == 1 : context.b == 1 || true"',
].filter((rule) => !rule.includes("|| true"));

test("[ours.policy.proved] a rule that approves by a name or by context alone is rejected", () => {
  for (const rule of PROVED) assert.deepEqual(ofRule(`id: a, then: approve, ${rule}`), [], rule);
  for (const rule of UNPROVED) {
    const [finding] = ofRule(`id: a, then: approve, ${rule}`);
    assert.match(finding ?? "", /must depend on a verified fact/, rule);
    for (const verb of ["ask", "deny"]) {
      assert.deepEqual(ofRule(`id: a, then: ${verb}, ${rule}`), [], rule);
    }
  }
});

test("[ours.policy.floor] a baseline policy cannot approve", () => {
  const rule = "id: a, match: { tool: pay }, then: approve";
  assert.match(ofRule(rule, { kind: "floor" })[0] ?? "", /a baseline policy cannot approve/);
  assert.deepEqual(ofRule("id: a, then: deny", { kind: "floor" }), []);
});

test("[ours.policy.groups] a group or a reviewer that does not exist is a fault, where they are known", () => {
  const groups = {
    reviewers: new Set(["dba"]),
    reviewerNames: new Set(["ana"]),
    instances: new Set(["bots"]),
    schedules: new Set(["payments"]),
  };
  const options: LoadOptions = { kind: "project", groups };
  const good = "match: { instance: { group: bots } }, ask: { from: [group:dba, reviewer:ana] }";
  assert.deepEqual(ofRule(`id: a, then: ask, ${good}`, options), []);
  const bad = "match: { instance: { group: [bot] } }, ask: { from: [group:ana, reviewer:dba] }";
  assert.equal(ofRule(`id: a, then: ask, ${bad}`, options).length, 3);
  assert.deepEqual(ofRule(`id: a, then: ask, ${bad}`), []);
});

test("a probable mistake is a warning", () => {
  const source = "version: 1\nrules:\n  - { id: a, then: deny, when: 'true' }\n";
  const { warnings } = loadPolicy(source, { kind: "project" });
  assert.deepEqual(locations(warnings), ["3:5 rules[0]", "1:1 "]);
});

test("[ours.policy.findings] a finding is short for any input", () => {
  for (const source of [`a: 1\n} ${"x".repeat(200_000)}`, `a: !${"x".repeat(200_000)}`]) {
    for (const finding of findingsOf(source)) assert.ok(finding.message.length < 600);
  }
});

test("[ours.policy.findings] an allowed but probably unintended rule is a warning", () => {
  const warned = (rule: string) =>
    loadPolicy(`version: 1\nrules:\n  - { ${rule} }\n`, { kind: "project" }).warnings.map(
      ({ path, message }) => `${path}: ${message}`,
    );
  const signed = warned("id: a, then: ask, ask: { confirm: passkey }");
  assert.deepEqual(signed, [": the policy has no tests"]);
  assert.match(
    warned("id: a, match: { tool: x }, then: approve, valid_for: 25h")[0] ?? "",
    /^rules\[0\]\.valid_for: an approval is valid for at most 24h/,
  );
  const fitting = warned("id: a, match: { tool: x }, then: approve, valid_for: 24h");
  assert.deepEqual(fitting, [": the policy has no tests"]);
});

const ESCALATE = (steps: string, more = "") =>
  `id: a, then: ask, ask: { from: group:dev, ${more} escalate: ${steps} }`;

test("[ours.policy.places] the places of approvals are read by rule, and unknown ones are findings", () => {
  const read = (channels: string) => {
    const rule = `id: a, then: ask, ask: { channels: ${channels} }`;
    return loadPolicy(`version: 1\nrules:\n  - { ${rule} }\n`, { kind: "project" });
  };
  assert.deepEqual(read("[console, api]").rules[0]?.ask?.channels, ["api", "console"]);
  assert.deepEqual(read("console").rules[0]?.ask?.channels, ["console"]);
  const path = "rules[0].ask.channels";
  for (const channels of ["[]", "[mail]", "[1]"]) {
    const [finding = ""] = ofRule(`id: a, then: ask, ask: { channels: ${channels} }`);
    assert.ok(finding.startsWith(path), `${channels}: ${finding}`);
  }
});

test("[ours.escalate.checked] the steps of an escalation are read by rule", () => {
  const source = `version: 1\nrules:\n  - { ${ESCALATE(
    "[{ after: 5m, to: group:leads }, { after: 15m, to: group:directors }]",
  )} }\n`;
  const [rule] = loadPolicy(source, { kind: "project" }).rules;
  assert.deepEqual(rule?.ask?.escalate, [
    { afterMs: 300_000, to: "group:leads" },
    { afterMs: 900_000, to: "group:directors" },
  ]);
});

test("[ours.escalate.checked] invalid steps are findings: unknown groups, other targets, missing parts, too many", () => {
  const groups = {
    reviewers: new Set(["dev", "leads"]),
    reviewerNames: new Set<string>(),
    instances: new Set<string>(),
    schedules: new Set(["payments"]),
  };
  const found = (steps: string) => ofRule(ESCALATE(steps), { kind: "project", groups });
  const path = "rules[0].ask.escalate";
  assert.deepEqual(found("[{ after: 5m, to: group:leads }]"), []);
  assert.deepEqual(found("[{ after: 5m, to: group:nobody }]"), [
    `${path}[0].to: unknown group \`nobody\``,
  ]);
  assert.deepEqual(found("[{ after: 5m, to: oncall:payments }]"), []);
  assert.deepEqual(found("[{ after: 5m, to: oncall:other }]"), [
    `${path}[0].to: unknown on-call schedule \`other\``,
  ]);
  for (const to of ["reviewer:ana", "leads", "group:"]) {
    const [finding] = found(`[{ after: 5m, to: "${to}" }]`);
    assert.equal(finding, `${path}[0].to: expected group:NAME or oncall:NAME`);
  }
  assert.match(found("[{ after: 5m }]").join(), /to/);
  assert.match(found("[{ to: group:leads }]").join(), /after/);
  assert.match(found("[{ after: 0s, to: group:leads }]").join(), /expected a duration/);
  assert.match(found("[{ after: 5m, to: group:leads, then: approve }]").join(), /then/);
  assert.match(found("{ after: 5m, to: group:leads }").join(), /expected a list/);
  assert.deepEqual(found("[{ after: 5m, to: group:leads }, { after: 9m, to: group:leads }]"), [
    `${path}[1].to: two steps have \`group:leads\``,
  ]);
  const six = Array.from({ length: 6 }, () => "{ after: 5m, to: group:leads }").join(", ");
  assert.deepEqual(found(`[${six}]`), [`${path}: an escalation has at most 5 steps`]);
});

test("[ours.escalate.never] a step that cannot happen, or that adds nothing, is a warning", () => {
  const warnings = (steps: string, more = "", timeoutMsMax?: number) => {
    const source = `version: 1\nrules:\n  - { ${ESCALATE(steps, more)} }\ntests:
  - { given: { tool: a }, expect: { then: ask } }\n`;
    return loadPolicy(source, { kind: "project", timeoutMsMax }).warnings.map(
      ({ message }) => message,
    );
  };
  const never = (time: string) => `this step can never happen: a request waits at most ${time}`;
  const step = "[{ after: 10m, to: group:leads }]";
  assert.deepEqual(warnings(step), []);
  assert.deepEqual(warnings(step, "within: 11m,"), []);
  assert.deepEqual(warnings(step, "within: 10m,"), [never("10m")]);
  assert.deepEqual(warnings(step, "within: 1h,", 600_000), [never("10m")]);
  assert.deepEqual(warnings(step, "", 600_001), []);
  assert.deepEqual(warnings("[{ after: 1m, to: group:dev }]"), [
    "`group:dev` may decide without this step: see `from`",
  ]);
});
