import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import {
  policyAsking,
  policySaying,
  publish,
  setGroups,
  showPolicy,
  startPolicyScene,
  type WireFinding,
  type WirePublished,
} from "./support/publishing.ts";
import { auditOf, type Scene } from "./support/scene.ts";

async function countVersions({ server }: Scene): Promise<number> {
  const { store } = server.provider.context;
  return Number((await store.get("select count(*) as n from policy_version"))?.n);
}

test("[ours.policy.publish.versions] a published policy is active, with its number, digest, note and publisher", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, reviewer } = scene;
  assert.deepEqual(await showPolicy(server, reviewer), { scope: "project", number: 0 });
  const source = policySaying("approve", "read.*");
  const answer = await publish(server, editor, source, 0, { note: "Reads need no reviewer." });
  assert.equal(answer.status, 201, answer.text);
  const { outcome, warnings, ...version } = answer.json;
  assert.deepEqual([outcome, warnings], ["published", []]);
  assert.match(version.published_by, /^reviewer:/);
  const { published_by, published_at, ...rest } = version;
  assert.deepEqual(rest, {
    scope: "project",
    number: 1,
    sha256: createHash("sha256").update(source).digest("hex"),
    note: "Reads need no reviewer.",
    publisher: "Ed",
    source,
  });
  assert.equal(Date.parse(published_at), scene.clock.now());
  assert.deepEqual(await showPolicy(server, reviewer), version);
  assert.deepEqual(await showPolicy(server, reviewer, "policy/versions/1"), version);
  assert.deepEqual(await auditOf(scene, "policy:1"), [
    {
      at: scene.clock.now(),
      kind: "policy.published",
      actor: published_by,
      detail: { number: 1, sha256: version.sha256, note: version.note },
    },
  ]);
});

test("[ours.policy.publish.versions] each version decides the calls submitted while it is active", async (t) => {
  const { server, editor, operator, instance } = await startPolicyScene(t);
  const submit = async () => (await server.submit(instance.token, { tool: "read.file" })).status;
  assert.equal(await submit(), "pending");
  await publish(server, editor, policySaying("approve", "read.*"), 0);
  assert.equal(await submit(), "approved");
  await publish(server, operator, policySaying("ask", "read.file"), 0, { place: "floor" });
  assert.equal(await submit(), "pending");
  await publish(server, editor, policySaying("deny", "read.*"), 1);
  assert.equal(await submit(), "denied");
});

test("[ours.policy.publish.versions] a version is not written without its audit row", async (t) => {
  const scene = await startPolicyScene(t);
  const { store } = scene.server.provider.context;
  await store.transact((tx) => tx.run("alter table audit_entry rename to hidden"));
  const answer = await publish(scene.server, scene.editor, policySaying("deny", "x"), 0);
  assert.equal(answer.status, 500);
  assert.equal(await countVersions(scene), 0);
});

test("[ours.policy.publish.checked] a policy with faults is rejected with every fault and its position", async (t) => {
  const scene = await startPolicyScene(t);
  const source = `version: 1
rules:
  - id: one
    match: { tool: "x" }
    when: tol.startsWith("x")
    then: deny
  - id: two
    match: { tool: "y" }
    then: perhaps
`;
  const answer = await publish(scene.server, scene.editor, source, 0);
  assert.equal(answer.status, 422, answer.text);
  const { code, param, message, findings = [] } = answer.json.error;
  assert.deepEqual([code, param], ["policy_invalid", "source"]);
  assert.match(
    message,
    /^The policy has 2 errors, the first at line 5, column \d+ \(rules\[0\]\.when\): /,
  );
  assert.deepEqual(
    findings.map(({ line, path }) => [line, path]),
    [
      [5, "rules[0].when"],
      [9, "rules[1].then"],
    ],
  );
  for (const { column, message: text } of findings) assert.ok(column > 0 && text !== "");
  assert.equal(await countVersions(scene), 0);
});

test("[ours.policy.publish.checked] a policy with failing tests is rejected with their expected and actual results", async (t) => {
  const scene = await startPolicyScene(t);
  const source = policySaying("deny", "x").replace("expect: { then: deny", "expect: { then: ask");
  const answer = await publish(scene.server, scene.editor, source, 0);
  assert.equal(answer.status, 422, answer.text);
  const [finding, ...others] = answer.json.error.findings ?? [];
  assert.equal(others.length, 0);
  assert.deepEqual([finding?.line, finding?.path], [7, "tests[0]"]);
  assert.match(finding?.message ?? "", /fails: expected ask, because deny-it, got deny, because /);
  assert.equal(await countVersions(scene), 0);
});

test("[ours.policy.publish.checked] a group is known when a reviewer of the project is in it, and no other", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor } = scene;
  const refused = await publish(server, editor, policyAsking("dba"), 0);
  assert.equal(refused.status, 422, refused.text);
  assert.match(refused.json.error.findings?.[0]?.path ?? "", /^rules\[0\]\.ask\.from/);
  await server.token({ kind: "reviewer", name: "other", project: "other" });
  const { store } = server.provider.context;
  await store.transact((tx) =>
    tx.run(`update reviewer set group_names = '["dba"]' where name = 'other'`),
  );
  assert.equal((await publish(server, editor, policyAsking("dba"), 0)).status, 422);
  await setGroups(server, "reviewer", ["dba"]);
  assert.equal((await publish(server, editor, policyAsking("dba"), 0)).status, 201);
});

test("[ours.policy.publish.checked] a group of instances is known when an instance that is not deleted is in it", async (t) => {
  const { server, editor, instance } = await startPolicyScene(t);
  const source = policySaying("approve", "x").replace(
    'match: { tool: "x" }',
    'match: { tool: "x", instance: { group: bots } }',
  );
  const tested = source.replace("args: {} }", "args: {}, instance: { group: bots } }");
  assert.equal((await publish(server, editor, tested, 0)).status, 422);
  await setGroups(server, "instance", ["bots", "more"]);
  assert.equal((await publish(server, editor, tested, 0)).status, 201);
  const token = instance.provisioner;
  await server.call("DELETE", `/v1/instances/${instance.id}`, { token });
  assert.equal((await publish(server, editor, `${tested}# again\n`, 1)).status, 422);
});

test("[ours.policy.publish.conflict] a conflict with the active version names its publisher and time", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator, clock } = scene;
  const first = await publish(server, operator, policySaying("deny", "a"), 0);
  const refused = await publish(server, editor, policySaying("deny", "b"), 0);
  assert.equal(refused.status, 409, refused.text);
  const { code, param, message } = refused.json.error;
  assert.deepEqual([code, param], ["policy_conflict", "expected_number"]);
  const when = new Date(clock.now()).toISOString();
  const who = `Olga (${first.json.published_by})`;
  assert.equal(
    message,
    `Version 1, published by ${who} at ${when}, is active, ` +
      "but the request expected no active version.",
  );
  const ahead = await publish(server, editor, policySaying("deny", "b"), 7);
  assert.match(
    ahead.json.error.message,
    /^Version 1, .* is active, but the request expected version 7\.$/,
  );
  assert.equal(await countVersions(scene), 1);
});

test("[ours.policy.publish.conflict] of concurrent publications one wins, and all others get the conflict", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor } = scene;
  for (const number of [0, 1, 2]) {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        publish(server, editor, policySaying("deny", `tool-${number}-${i}`), number),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, 409, 409, 409, 409, 409]);
    const winner = answers.find(({ status }) => status === 201)?.json as WirePublished;
    for (const { status, json } of answers) {
      if (status === 201) continue;
      assert.equal(json.error.code, "policy_conflict");
      assert.match(json.error.message, new RegExp(`^Version ${number + 1}, published by Ed `));
    }
    assert.equal((await showPolicy(server, editor)).source, winner.source);
    assert.equal((await auditOf(scene, `policy:${number + 1}`)).length, 1);
  }
  assert.equal(await countVersions(scene), 3);
});

test("[ours.policy.publish.again] publishing the active source again returns it and writes nothing", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor } = scene;
  const source = policySaying("deny", "a");
  const first = await publish(server, editor, source, 0);
  // As a caller that lost the answer sends it again.
  const again = await publish(server, editor, source, 0, { note: "another note" });
  assert.equal(again.status, 200, again.text);
  assert.deepEqual(again.json, { ...first.json, outcome: "in_force" });
  const many = await Promise.all([1, 2, 3].map(() => publish(server, editor, `${source}#\n`, 1)));
  assert.deepEqual(many.map(({ status }) => status).sort(), [200, 200, 201]);
  assert.equal(await countVersions(scene), 2);
});

test("[ours.policy.publish.powers] editors, admins and operators publish for their project, only operators the baseline policy", async (t) => {
  const { server } = await startPolicyScene(t);
  const may = { viewer: "", reviewer: "", editor: "p", admin: "p", operator: "pf" } as const;
  let versions = 0;
  let floors = 0;
  for (const [role, powers] of Object.entries(may)) {
    const token = await server.token({ kind: "reviewer", name: role, role: role as "viewer" });
    const project = await publish(server, token, policySaying("deny", role), versions);
    assert.equal(project.status, powers.includes("p") ? 201 : 403, role);
    if (project.status === 201) versions++;
    const floor = await publish(server, token, policySaying("deny", role), floors, {
      place: "floor",
    });
    assert.equal(floor.status, powers.includes("f") ? 201 : 403, role);
    if (floor.status === 201) floors++;
    for (const place of ["policy", "floor"] as const) {
      const allowed = powers.includes(place === "policy" ? "p" : "f");
      const body = { source: policySaying("deny", "x") };
      const check = await server.call("POST", `/review/v1/${place}/check`, { token, body });
      assert.equal(check.status, allowed || place === "policy" ? 200 : 403, role);
      const simulate = await server.call("POST", `/review/v1/${place}/simulate`, { token, body });
      assert.equal(simulate.status, allowed ? 200 : 403, role);
      assert.equal((await server.call("GET", `/review/v1/${place}`, { token })).status, 200);
      const versionsPath = `/review/v1/${place}/versions`;
      assert.equal((await server.call("GET", versionsPath, { token })).status, 200);
    }
  }
});

test("[ours.policy.publish.powers] a project sees only its own policy, and every project the baseline policy", async (t) => {
  const { server, editor, operator } = await startPolicyScene(t);
  await publish(server, editor, policySaying("deny", "a"), 0);
  const floor = await publish(server, operator, policySaying("ask", "b"), 0, { place: "floor" });
  const { outcome, warnings, publisher, ...shown } = floor.json;
  assert.deepEqual([outcome, warnings, publisher], ["published", [], "Olga"]);
  const other = await server.token({ kind: "reviewer", project: "other" });
  assert.deepEqual(await showPolicy(server, other), { scope: "project", number: 0 });
  // That project may not see the name of the publisher.
  assert.deepEqual(await showPolicy(server, other, "floor"), shown);
});

test("[ours.policy.publish.untouched] publishing leaves pending requests pending", async (t) => {
  const { server, editor, operator, instance } = await startPolicyScene(t);
  const { id } = await server.submit(instance.token);
  const before = await server.read(instance.token, id);
  await publish(server, editor, policySaying("approve", "deploy"), 0);
  await publish(server, operator, policySaying("deny", "deploy"), 0, { place: "floor" });
  assert.deepEqual(await server.read(instance.token, id), before);
  assert.equal(before.status, "pending");
});

test("[ours.policy.publish.floor] a baseline policy that approves is rejected, and one may name fields of any project", async (t) => {
  const { server, operator } = await startPolicyScene(t);
  const place = { place: "floor" } as const;
  const weak = await publish(server, operator, policySaying("approve", "x"), 0, place);
  assert.equal(weak.json.error.code, "policy_invalid");
  await server.token({ kind: "reviewer", name: "other", project: "other" });
  assert.equal((await publish(server, operator, policyAsking("dba"), 0, place)).status, 422);
  const { store } = server.provider.context;
  await store.transact((tx) =>
    tx.run(`update reviewer set group_names = '["dba"]' where name = 'other'`),
  );
  assert.equal((await publish(server, operator, policyAsking("dba"), 0, place)).status, 201);
});

test("[ours.policy.check] a check returns all findings of a publication, and writes nothing", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor } = scene;
  const check = async (source: string) => {
    const answer = await server.call<Record<string, unknown>>("POST", "/review/v1/policy/check", {
      token: editor,
      body: { source },
    });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const good = policySaying("deny", "x");
  assert.deepEqual(await check(good), {
    valid: true,
    rules: 1,
    outlines: [{ id: "deny-it", line: 3, verb: "deny", tools: ["x"] }],
    findings: [],
    warnings: [],
    tests: [
      {
        index: 0,
        line: 7,
        passed: true,
        expected: "deny, because deny-it",
        got: "deny, because deny-it",
      },
    ],
  });
  for (const source of [policyAsking("nobody"), good.replace("deny,", "ask,"), "version: 2", "{"]) {
    const { valid, findings } = await check(source);
    assert.equal(valid, false);
    const refused = await publish(server, editor, source, 0);
    assert.deepEqual(refused.json.error.findings, findings);
  }
  assert.equal(await countVersions(scene), 0);
});

test("[ours.policy.check.readers] a viewer's check returns the findings of a publication, and writes nothing", async (t) => {
  const scene = await startPolicyScene(t);
  const token = await scene.server.token({ kind: "reviewer", name: "vi", role: "viewer" });
  const body = { source: policyAsking("nobody") };
  const answer = await scene.server.call<{ valid: boolean; findings: WireFinding[] }>(
    "POST",
    "/review/v1/policy/check",
    { token, body },
  );
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.valid, false);
  const refused = await publish(scene.server, scene.editor, body.source, 0);
  assert.deepEqual(refused.json.error.findings, answer.json.findings);
  assert.equal(await countVersions(scene), 0);
});

test("[ours.policy.publish.checked] an invalid body is rejected with the name of the field", async (t) => {
  const { server, editor } = await startPolicyScene(t);
  const source = policySaying("deny", "x");
  const bodies: readonly (readonly [object, string])[] = [
    [{ expected_number: 0 }, "source"],
    [{ source }, "expected_number"],
    [{ source, expected_number: -1 }, "expected_number"],
    [{ source, expected_number: "0" }, "expected_number"],
    [{ source, expected_number: 1.5 }, "expected_number"],
    [{ source, expected_number: 0, note: "x".repeat(1_001) }, "note"],
    [{ source, expected_number: 0, note: "\0" }, "note"],
    [{ source: `${source}#\0`, expected_number: 0 }, "source"],
    [{ source: `#${" ".repeat(262_144)}`, expected_number: 0 }, "source"],
    [{ source, expected_number: 0, number: 1 }, "number"],
  ];
  for (const [body, param] of bodies) {
    const answer = await server.call<WirePublished>("POST", "/review/v1/policy", {
      token: editor,
      body,
    });
    assert.deepEqual([answer.status, answer.json.error.param], [400, param], answer.text);
  }
  for (const query of ["limit=0", "limit=201", "after=x", "after=0"]) {
    const path = `/review/v1/policy/versions?${query}`;
    assert.equal((await server.call("GET", path, { token: editor })).status, 400, query);
  }
  for (const number of ["0", "7", "x", "1.0"]) {
    const path = `/review/v1/policy/versions/${number}`;
    assert.equal((await server.call("GET", path, { token: editor })).status, 404, number);
  }
});
