/** The OpenID Authorization API: evaluations of calls, without creating requests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Decision,
  decisionOf,
  EVALUATION,
  EVALUATIONS,
  evaluate,
  PROBLEM,
  REFUND,
  startAuthzen,
  TASKS,
  type TaskAnswer,
} from "./support/authzen.ts";
import { freeze, lift } from "./support/freezes.ts";
import { GRANTS, makeGrant } from "./support/grants.ts";
import { enforce } from "./support/policies.ts";
import { countRequests, type Scene, startScene, submitBody, UNKNOWN_ID } from "./support/scene.ts";
import { startTestProvider } from "./support/test-provider.ts";

const METADATA = "/.well-known/authzen-configuration";

function asking(name: string, fields: object = {}): object {
  return { ...REFUND, action: { name }, ...fields };
}

/** Rows of every table that an operation could write to. */
async function rowsOf({ server }: Scene): Promise<readonly unknown[]> {
  const { store } = server.provider.context;
  const tables = ["request", "audit_entry", "notification", "consumption"];
  const counts: unknown[] = [];
  for (const table of tables) {
    const row = await store.get(`select count(*) as n from ${table}`);
    counts.push(Number(row?.n));
  }
  const grants = await store.all("select id, calls from call_grant order by id");
  return [...counts, ...grants.map(({ calls }) => Number(calls))];
}

test("[ours.authzen.off] without the setting, every path returns 404", async (t) => {
  const { server, instance } = await startScene(t);
  for (const [method, path] of [
    ["POST", EVALUATION],
    ["POST", EVALUATIONS],
    ["POST", TASKS],
    ["GET", `${TASKS}/${instance.id}`],
    ["POST", `${TASKS}/${instance.id}/cancel`],
    ["GET", METADATA],
  ] as const) {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${instance.token}` },
    });
    assert.equal(response.status, 404, path);
  }
});

test("[ours.authzen.evaluate] approve is true; deny and ask are false, with the reason and the rule", async (t) => {
  const scene = await startAuthzen(t);
  const evaluated_at = new Date(scene.clock.now()).toISOString();
  assert.deepEqual(await decisionOf(scene, asking("orders.get")), {
    decision: true,
    context: {
      evaluated_at,
      reason: "policy_approved",
      rule: "look-ups",
      note: "Look-ups are harmless.",
    },
  });
  assert.deepEqual(await decisionOf(scene, asking("orders.wipe")), {
    decision: false,
    context: {
      evaluated_at,
      reason: "policy_denied",
      rule: "no-wipes",
      note: "Orders are never wiped.",
    },
  });
  const { decision, context } = await decisionOf(scene, REFUND);
  const { access_request, ...rest } = context;
  assert.equal(decision, false);
  assert.deepEqual(rest, { evaluated_at, reason: "approval_required", rule: "no-match" });
  assert.equal(access_request?.endpoint, scene.server.url + TASKS);
});

test("[ours.authzen.evaluate] a freeze makes every decision false, until it is lifted", async (t) => {
  const scene = await startAuthzen(t);
  const operator = await scene.server.token({ kind: "reviewer", name: "op", role: "operator" });
  const frozen = await freeze(scene.server, operator, { scope: "project" });
  assert.equal(frozen.status, 201, frozen.text);
  for (const name of ["orders.get", "orders.refund"]) {
    const { decision, context } = await decisionOf(scene, asking(name));
    assert.deepEqual([decision, context.reason], [false, "calls_frozen"]);
    assert.equal(context.access_request, undefined);
  }
  await lift(scene.server, operator, frozen.json.id);
  assert.equal((await decisionOf(scene, asking("orders.get"))).decision, true);
});

test("[ours.authzen.evaluate] a grant makes the decision true, and the evaluation does not use it", async (t) => {
  const scene = await startAuthzen(t);
  const grant = { instance_id: scene.instance.id, tool: "orders.refund", calls: 1 };
  const { id } = await makeGrant(scene.server, scene.reviewer, grant);
  for (let run = 0; run < 3; run++) {
    const { decision, context } = await decisionOf(scene, REFUND);
    assert.deepEqual([decision, context.reason, context.rule], [true, "grant_approved", "grant"]);
  }
  const shown = await scene.server.call<{ calls: number }>("GET", `${GRANTS}/${id}`, {
    token: scene.reviewer,
  });
  assert.equal(shown.json.calls, 0);
});

test("[ours.authzen.silent] an evaluation writes no row and is not counted as an earlier call", async (t) => {
  const scene = await startAuthzen(t);
  await enforce(
    scene.server,
    `version: 1
rules:
  - id: first-two
    match: { tool: orders.refund }
    when: history.calls("1h") < 2
    then: approve
`,
  );
  const before = await rowsOf(scene);
  for (let run = 0; run < 5; run++) {
    assert.equal((await decisionOf(scene, REFUND)).decision, true);
  }
  await evaluate(scene, { ...REFUND, evaluations: [{}, {}, {}] }, EVALUATIONS);
  assert.deepEqual(await rowsOf(scene), before);
  const { arguments: args } = REFUND.context;
  const body = { tool: "orders.refund", arguments: args, timeout: "1h" };
  for (const status of ["approved", "approved", "pending"]) {
    const answer = await submitBody(scene.server, scene.instance.token, body);
    assert.equal(answer.json.status, status);
  }
  assert.equal((await decisionOf(scene, REFUND)).decision, false);
});

test("[ours.authzen.evaluate] it agrees with POST /v1/requests about the same call", async (t) => {
  const scene = await startAuthzen(t);
  const admin = { type: "user", id: "ana", properties: { role: "admin" } };
  for (const [name, subject] of [
    ["orders.get", REFUND.subject],
    ["orders.wipe", REFUND.subject],
    ["orders.cancel", REFUND.subject],
    ["orders.cancel", admin],
  ] as const) {
    const action = { name };
    const { resource, context } = REFUND;
    const decision = await decisionOf(scene, { subject, action, resource, context });
    const submitted = await submitBody(scene.server, scene.instance.token, {
      tool: name,
      arguments: context.arguments,
      context: { region: "eu", authzen: { subject, action, resource } },
      timeout: "1h",
    });
    const isApproved = submitted.json.status === "approved";
    assert.equal(decision.decision, isApproved, name);
    assert.equal(
      decision.context.reason === "approval_required",
      submitted.json.status === "pending",
    );
  }
});

test("[ours.authzen.exact] policies read numbers exactly, and duplicate keys return 400", async (t) => {
  const scene = await startAuthzen(t);
  await enforce(
    scene.server,
    `version: 1
rules:
  - id: one-account
    match: { tool: orders.refund }
    when: args.account == 9007199254740993
    then: approve
`,
  );
  const question = (account: string): string =>
    `{"subject":{"type":"user","id":"a"},"action":{"name":"orders.refund"},
      "resource":{"type":"order","id":"1"},"context":{"arguments":{"account":${account}}}}`;
  assert.equal((await decisionOf(scene, question("9007199254740993"))).decision, true);
  assert.equal((await decisionOf(scene, question("9007199254740992"))).decision, false);
  const twice = question('1,"account":2');
  assert.equal((await evaluate(scene, twice)).status, 400);
  const smuggled = question("1").replace('"action"', '"action":{"name":"orders.get"},"action"');
  assert.equal((await evaluate(scene, smuggled)).status, 400);
  for (const bad of ['"\\ud800"', "01", "1".repeat(5_000), "[".repeat(200) + "]".repeat(200)]) {
    assert.equal((await evaluate(scene, question(bad))).status, 400, bad.slice(0, 20));
  }
});

test("[ours.authzen.evaluate] the member authzen of the context is reserved, and context.time is not read", async (t) => {
  const scene = await startAuthzen(t);
  const forged = { authzen: { subject: { properties: { role: "admin" } } } };
  const answer = await evaluate(scene, asking("orders.cancel", { context: forged }));
  assert.equal(answer.status, 400);
  assert.match(answer.text, /context\.authzen is a reserved name/);
  await enforce(
    scene.server,
    `version: 1
rules:
  - id: reads-time
    match: { tool: orders.refund }
    when: has(context.time) || has(context.approval) || has(context.reason)
    then: approve
`,
  );
  const context = { time: "2026-01-01T00:00:00Z", reason: "because" };
  assert.equal((await decisionOf(scene, { ...REFUND, context })).decision, false);
});

test("[ours.authzen.batch] a batch stops at the first denial or permission on request, and has at most 50 items", async (t) => {
  const scene = await startAuthzen(t);
  const action = (name: string): object => ({ action: { name } });
  const evaluations = [action("orders.get"), action("orders.wipe"), action("orders.get")];
  const batch = async (semantic: string | undefined, items: readonly unknown[] = evaluations) => {
    const options = semantic === undefined ? {} : { options: { evaluations_semantic: semantic } };
    const body = { ...REFUND, evaluations: items, ...options };
    return evaluate<{ evaluations: Decision[] }>(scene, body, EVALUATIONS);
  };
  const decisions = async (semantic: string | undefined): Promise<readonly boolean[]> =>
    (await batch(semantic)).json.evaluations.map(({ decision }) => decision);
  assert.deepEqual(await decisions(undefined), [true, false, true]);
  assert.deepEqual(await decisions("execute_all"), [true, false, true]);
  assert.deepEqual(await decisions("deny_on_first_deny"), [true, false]);
  assert.deepEqual(await decisions("permit_on_first_permit"), [true]);
  assert.equal((await batch("all_of_them")).status, 400);
  const broken = await batch("execute_all", [{ action: { name: 1 } }, "text", {}]);
  assert.deepEqual(
    broken.json.evaluations.map(({ decision, context }) => [decision, context.error?.status]),
    [
      [false, 400],
      [false, 400],
      [false, undefined],
    ],
  );
  assert.equal((await batch(undefined, Array(50).fill({}))).status, 200);
  assert.equal((await batch(undefined, Array(51).fill({}))).status, 400);
  for (const wrong of [{ subject: "alice" }, { context: [] }, { evaluations: {} }]) {
    const answer = await evaluate(scene, { ...REFUND, evaluations: [{}], ...wrong }, EVALUATIONS);
    assert.equal(answer.status, 400, JSON.stringify(wrong));
  }
});

test("[ours.authzen.batch] questions inherit at most 1,048,576 characters, without the first copy", async (t) => {
  const scene = await startAuthzen(t);
  const { subject, action, resource } = REFUND;
  const size = (length: number): object => ({ text: "x".repeat(length - '{"text":""}'.length) });
  const batch = (length: number, evaluations: readonly object[]) =>
    evaluate<{ evaluations: Decision[] }>(
      scene,
      { context: size(length), evaluations },
      EVALUATIONS,
    );
  const question = { subject, action, resource };
  const limit = 1_048_576;
  assert.equal((await batch(limit / 4, Array(5).fill(question))).status, 200);
  const answer = await batch(limit / 4 + 1, Array(5).fill(question));
  assert.equal(answer.status, 400);
  assert.match(answer.text, /evaluations inherit 1048580 characters\. The limit is 1048576\./);
  const own = { ...question, context: {} };
  assert.equal((await batch(limit / 2, [question, ...Array(49).fill(own)])).status, 200);
});

test("[ours.authzen.batch] other exchanges have a turn between the questions of a batch", async (t) => {
  const scene = await startAuthzen(t);
  let turns = 0;
  const countTurns = (): void => {
    turns++;
    timer = setImmediate(countTurns);
  };
  let timer = setImmediate(countTurns);
  t.after(() => clearImmediate(timer));
  const turnsSeen = new Set<number>();
  const { clock } = scene;
  const read = clock.now.bind(clock);
  // Each evaluation reads the clock.
  t.mock.method(clock, "now", () => {
    turnsSeen.add(turns);
    return read();
  });
  const body = { ...REFUND, evaluations: Array(50).fill({}) };
  assert.equal((await evaluate(scene, body, EVALUATIONS)).status, 200);
  assert.ok(turnsSeen.size >= 25, `${turnsSeen.size} turns`);
});

test("[ours.authzen.batch] each item of a batch is charged to the rate of the instance", async (t) => {
  const scene = await startAuthzen(t, { settings: { instance_rate: "5" } });
  const body = { ...REFUND, evaluations: Array(40).fill({}) };
  assert.equal((await evaluate(scene, body, EVALUATIONS)).status, 200);
  const answer = await evaluate(scene, REFUND);
  assert.equal(answer.status, 429);
  assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
});

test("[ours.authzen.batch] each question is charged to the submissions of the provisioner", async (t) => {
  const scene = await startAuthzen(t, { settings: { account_submission_rate: "2" } });
  const sibling = await scene.server.provision(scene.instance.provisioner);
  const body = { ...REFUND, evaluations: Array(4).fill({}) };
  assert.equal((await evaluate(scene, body, EVALUATIONS)).status, 200);
  const instance = { ...scene.instance, token: sibling.credential.token };
  for (const path of [EVALUATION, EVALUATIONS]) {
    const answer = await evaluate({ ...scene, instance }, REFUND, path);
    assert.equal(answer.status, 429, answer.text);
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
  }
});

test("[ours.authzen.credential] only an instance credential can use the API: 401 without, 403 with another kind", async (t) => {
  const scene = await startAuthzen(t);
  const { server, instance, reviewer } = scene;
  const paths = [
    ["POST", EVALUATION],
    ["POST", EVALUATIONS],
    ["POST", TASKS],
    ["GET", `${TASKS}/${instance.id}`],
    ["POST", `${TASKS}/${instance.id}/cancel`],
  ] as const;
  for (const [method, path] of paths) {
    for (const [token, status] of [
      [undefined, 401],
      ["cs_inst_wrong", 401],
      [instance.provisioner, 403],
      [reviewer, 403],
    ] as const) {
      const body = method === "POST" ? { body: REFUND } : {};
      const answer = await server.call(method, path, { token, ...body });
      assert.equal(answer.status, status, `${method} ${path} ${status}`);
      if (status === 401) assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
    }
  }
  await server.call("DELETE", `/v1/instances/${instance.id}`, { token: instance.provisioner });
  assert.equal((await evaluate(scene, REFUND)).status, 401);
});

test("[ours.authzen.credential] the policy of the instance's project decides", async (t) => {
  const scene = await startAuthzen(t);
  const other = await scene.server.instance("other");
  const own = await decisionOf(scene, asking("orders.get"));
  const foreign = await decisionOf({ server: scene.server, instance: other }, asking("orders.get"));
  assert.deepEqual([own.decision, foreign.decision], [true, false]);
  assert.equal(foreign.context.rule, "no-policy");
});

test("[ours.authzen.evaluate] an oversized body returns 400, and a policy that cannot be read asks", async (t) => {
  const scene = await startAuthzen(t, { settings: { body_bytes_max: "4096" } });
  const large = { ...REFUND, context: { text: "x".repeat(5_000) } };
  assert.equal((await evaluate(scene, large)).status, 400);
  await enforce(scene.server, "version: 1\nrules: 7\n");
  const { decision, context } = await decisionOf(scene, asking("orders.get"));
  assert.deepEqual([decision, context.rule], [false, "error"]);
  assert.equal(await countRequests(scene), 0);
});

test("[ours.authzen.evaluate] X-Request-ID is echoed if it has 1 to 200 printable ASCII characters, otherwise replaced", async (t) => {
  const { server } = await startAuthzen(t);
  const echoOf = async (given: string): Promise<string | null> => {
    const headers = { "x-request-id": given };
    const answer = await fetch(server.url + EVALUATION, { method: "POST", headers });
    return answer.headers.get("x-request-id");
  };
  for (const id of ["7", "a".repeat(200)]) assert.equal(await echoOf(id), id);
  for (const id of ["", "a".repeat(201), "\u00e9", "a\tb"]) {
    assert.match((await echoOf(id)) ?? "", /^[\w-]{1,200}$/, id);
    assert.notEqual(await echoOf(id), id);
  }
});

test("[ours.authzen.metadata] the metadata follows public_url and path_prefix", async (t) => {
  const settings = {
    authzen: "true",
    public_url: "https://approvals.example.com/team",
    path_prefix: "/api",
  };
  const server = await startTestProvider(t, { settings });
  const base = "https://approvals.example.com/team/api";
  const answer = await server.call<Record<string, unknown>>("GET", `${METADATA}/team/api`);
  assert.equal(answer.status, 200);
  assert.equal(answer.json.policy_decision_point, base);
  assert.equal(answer.json.access_evaluation_endpoint, `${base}/access/v1/evaluation`);
  assert.equal((await server.call("GET", METADATA)).status, 404);
});

test("[ours.authzen.request] an unknown task is unknown_task, also when the address has a query", async (t) => {
  const { server, instance } = await startAuthzen(t);
  const { token } = instance;
  for (const query of ["", "?trace=1"]) {
    for (const [method, path] of [
      ["GET", `${TASKS}/${UNKNOWN_ID}`],
      ["POST", `${TASKS}/${UNKNOWN_ID}/cancel`],
    ] as const) {
      const { status, json } = await server.call<TaskAnswer>(method, path + query, { token });
      assert.deepEqual([status, json.type], [404, `${PROBLEM}unknown_task`], method + query);
    }
  }
});
