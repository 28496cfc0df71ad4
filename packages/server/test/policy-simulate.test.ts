import assert from "node:assert/strict";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ErrorResponse } from "@countersign/protocol";
import type { ReviewerCaller } from "../src/identity/caller.ts";
import { type SimulationOrder, simulatePolicy } from "../src/operations/policy/simulatePolicy.ts";
import { type Judgement, writeJudgement } from "../src/policy/judgement.ts";
import { policySaying, projectIdOf, publish, setGroups, storePast } from "./support/publishing.ts";
import { type Scene, startScene } from "./support/scene.ts";
import type { Lifetime } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

interface Changed {
  readonly id: string;
  readonly tool: string;
  readonly server?: string;
  readonly instance: { readonly id: string; readonly name: string };
  readonly was: string;
  readonly would_be: string;
  readonly because: string;
  readonly rules: readonly string[];
  readonly errors: readonly { readonly rule: string }[];
  readonly status: string;
  readonly decided_by?: string;
}

interface Summary {
  readonly replayed: number;
  readonly unchanged: number;
  readonly changes: Readonly<Record<string, number>>;
  readonly errors: number;
  readonly ended: string;
}

interface Simulated {
  readonly started: Readonly<Record<string, unknown>>;
  readonly changed: readonly Changed[];
  readonly progress: readonly { readonly replayed: number; readonly reached: string }[];
  readonly summary: Summary;
}

interface EditorScene extends Scene {
  readonly editor: string;
}

async function startEditorScene(t: Lifetime): Promise<EditorScene> {
  const scene = await startScene(t);
  const editor = await scene.server.token({ kind: "reviewer", name: "Ed", role: "operator" });
  return { ...scene, editor };
}

async function simulate(
  { server, editor }: EditorScene,
  source: string,
  options: object = {},
  place = "policy",
): Promise<Simulated> {
  const path = `/review/v1/${place}/simulate`;
  const answer = await server.call("POST", path, { token: editor, body: { source, ...options } });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/x-ndjson");
  const lines = answer.text.trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line) as { event: string });
  assert.equal(events[0]?.event, "started");
  assert.equal(events.at(-1)?.event, "summary", answer.text.slice(-500));
  const all = <T>(event: string) => events.filter((each) => each.event === event) as unknown as T[];
  return {
    started: all<Record<string, unknown>>("started")[0] ?? {},
    changed: all<Changed>("changed"),
    progress: all<Simulated["progress"][number]>("progress"),
    summary: all<Summary>("summary")[0] as Summary,
  };
}

function judged(verb: Judgement["verb"], because = "a-rule"): string | null {
  const empty = { fired: [], errors: [], project: null, floor: null };
  return writeJudgement({ verb, because, ...empty });
}

test("[ours.extensions.server.names] a draft for joined names is simulated for calls with a server", async (t) => {
  const scene = await startEditorScene(t);
  const servers = ['"github"', '"gitlab"', null];
  await storePast(scene.server, scene.instance.id, 3, (i) => ({
    tool: '"create_issue"',
    server: servers[i] ?? null,
  }));
  const source = `version: 1
rules:
  - id: issues
    match: { tool: "mcp__git*" }
    when: history.calls("1h") == 0
    then: approve
  - { id: lab, match: { tool: gitlab/create_issue }, then: deny }
`;
  const { changed } = await simulate(scene, source);
  const seen = changed.map(({ tool, server, would_be }) => [tool, server, would_be]);
  assert.deepEqual(seen, [
    ["create_issue", "gitlab", "deny"],
    ["create_issue", "github", "approve"],
  ]);
});

test("[ours.policy.simulate.changes] a change by a draft is reported with both verdicts and the reason", async (t) => {
  const scene = await startEditorScene(t);
  const { instance } = scene;
  const tools = ["read.file", "read.mail", "deploy", "drop"];
  const requests = await storePast(scene.server, instance.id, 40, (i) => ({
    tool: JSON.stringify(tools[i % 4]),
    policy: i % 4 === 3 ? judged("approve") : null,
  }));
  const decided = requests[36];
  assert.ok(decided !== undefined);
  await scene.server.decide(scene.reviewer, decided.id, "deny");
  const source = `version: 1
rules:
  - { id: reads, match: { tool: "read.*" }, then: approve }
  - { id: drops, match: { tool: "drop" }, then: deny }
  - { id: more-drops, match: { tool: "d*p" }, then: deny }
`;
  const { started, changed, summary } = await simulate(scene, source);
  assert.deepEqual(summary, {
    event: "summary",
    replayed: 40,
    unchanged: 10,
    changes: { "ask->approve": 20, "approve->deny": 10 },
    requirement_changed: 0,
    errors: 0,
    unreadable: 0,
    unreadable_ids: [],
    ended: "all",
  });
  assert.deepEqual(
    [started.total, started.floor_number, started.policy_number, started.groups],
    [40, 0, 0, "as they are now"],
  );
  assert.deepEqual(
    changed.map(({ id }) => id),
    requests
      .filter((_, i) => i % 4 !== 2)
      .map(({ id }) => id)
      .reverse(),
    "the newest first",
  );
  const { was, would_be, because, rules, errors, status, tool } = changed[0] as Changed;
  assert.deepEqual(
    { was, would_be, because, rules, errors, status, tool },
    {
      was: "approve",
      would_be: "deny",
      because: "drops",
      rules: ["drops", "more-drops"],
      errors: [],
      status: "pending",
      tool: "drop",
    },
  );
  const simulated = changed.find(({ id }) => id === decided.id);
  assert.equal(simulated?.status, "denied");
  assert.match(simulated?.decided_by ?? "", /^reviewer:/);
  assert.equal(simulated?.instance.id, instance.id);
});

test("[ours.policy.simulate.changes] a draft is evaluated with the active baseline policy, today's groups and the time of the call", async (t) => {
  const scene = await startEditorScene(t);
  const { server, editor, instance, clock } = scene;
  await storePast(server, instance.id, 4, (i) => ({ tool: i < 2 ? '"pay"' : '"look"' }));
  await publish(server, editor, policySaying("ask", "pay"), 0, { place: "floor" });
  const now = new Date(clock.now()).toISOString();
  const source = `version: 1
rules:
  - id: bots
    match: { instance: { group: bots } }
    when: now < timestamp("${now}")
    then: approve
`;
  await setGroups(server, "instance", ["bots"]);
  const { changed, summary, started } = await simulate(scene, source);
  assert.deepEqual([started.floor_number, started.policy_number], [1, 0]);
  assert.deepEqual(summary.changes, { "ask->approve": 2 });
  for (const { tool } of changed) assert.equal(tool, "look");

  // The reverse: a draft of the baseline policy above the active policy.
  await publish(server, editor, source, 0);
  const floor = await simulate(scene, policySaying("deny", "look"), {}, "floor");
  assert.deepEqual(floor.summary.changes, { "ask->deny": 2, "ask->approve": 2 });
  assert.equal(floor.changed[0]?.because, "floor/deny-it");
});

test("[ours.policy.simulate.changes] a call with a failing rule of the draft asks, and the error names its rule", async (t) => {
  const scene = await startEditorScene(t);
  const amounts = ['{"amount":1}', "{}", '{"amount":100.00000000000000000001}'];
  await storePast(scene.server, scene.instance.id, 3, (i) => ({
    arguments: amounts[i] ?? "{}",
    policy: judged("approve"),
  }));
  const source = `version: 1
rules:
  - { id: all, match: { tool: "*" }, then: approve }
  - { id: large, when: args.amount > 100, then: deny }
`;
  const { changed, summary } = await simulate(scene, source);
  assert.deepEqual(summary.changes, { "approve->ask": 2 });
  assert.ok(summary.errors >= 1);
  assert.deepEqual(changed.map(({ because }) => because).sort(), ["error", "inexact"]);
  assert.equal(changed.find(({ because }) => because === "error")?.errors[0]?.rule, "large");
});

test("[ours.policy.simulate.changes] the verdicts of the policy are compared, not the later decisions of reviewers", async (t) => {
  const scene = await startEditorScene(t);
  const { server, instance, reviewer } = scene;
  const { id } = await server.submit(instance.token);
  await server.decide(reviewer, id, "approve");
  scene.clock.advance(1_000);
  assert.deepEqual((await simulate(scene, policySaying("ask", "deploy"))).summary.changes, {});
  const { changed } = await simulate(scene, policySaying("approve", "deploy"));
  assert.deepEqual(
    changed.map(({ was, would_be, status }) => [was, would_be, status]),
    [["ask", "approve", "approved"]],
  );
});

test("[ours.policy.simulate.bounds] a simulation takes the latest requests of a time span, of one instance, up to its limit, and counts those it does not show", async (t) => {
  const scene = await startEditorScene(t);
  const { server, instance, clock } = scene;
  const other = await server.instance();
  // One each second, the last one a minute ago.
  const requests = await storePast(server, instance.id, 450);
  await storePast(server, other.id, 50);
  await server.instance("other").then(({ id }) => storePast(server, id, 10));
  const draft = policySaying("deny", "deploy");
  const count = async (options: object): Promise<readonly [number, number, string]> => {
    const { summary, changed } = await simulate(scene, draft, options);
    assert.equal(summary.changes["ask->deny"] ?? 0, summary.replayed);
    return [summary.replayed, changed.length, summary.ended];
  };
  assert.deepEqual(await count({}), [500, 100, "all"]);
  assert.deepEqual(await count({ examples: 0 }), [500, 0, "all"]);
  assert.deepEqual(await count({ examples: 100_000 }), [500, 500, "all"]);
  assert.deepEqual(await count({ limit: 120 }), [120, 100, "limit"]);
  assert.deepEqual(await count({ limit: 500 }), [500, 100, "all"]);
  assert.deepEqual(await count({ instance_id: other.id }), [50, 50, "all"]);
  assert.deepEqual(await count({ instance_id: instance.id, limit: 7 }), [7, 7, "limit"]);
  const at = (index: number) => new Date(requests[index]?.createdAt ?? 0).toISOString();
  const span = { since: at(10), until: at(20), instance_id: instance.id };
  assert.deepEqual(await count(span), [10, 10, "all"]);
  assert.deepEqual(await count({ since: "1m" }), [2, 2, "all"]);
  assert.deepEqual(await count({ since: "2h", until: "1h" }), [0, 0, "all"]);
  clock.advance(7 * 24 * 3_600_000 - 60_000);
  assert.deepEqual(await count({}), [2, 2, "all"], "seven days unless said otherwise");
});

test("[ours.policy.simulate.bounds] requests of a megabyte are read a few at a time, and each once", async (t) => {
  const scene = await startEditorScene(t);
  await storePast(scene.server, scene.instance.id, 9, (i) => ({
    arguments: i % 3 === 0 ? JSON.stringify({ text: "x".repeat(900_000) }) : "{}",
  }));
  const { summary, changed } = await simulate(scene, policySaying("deny", "deploy"));
  assert.equal(summary.replayed, 9);
  assert.equal(new Set(changed.map(({ id }) => id)).size, changed.length);
  // On a busy machine, an evaluation can reach its time limit. It is then an error, and no change.
  assert.equal(changed.length + summary.errors, 9);
});

test("[ours.policy.simulate.bounds] a faulty draft and wrong options are rejected before the first event", async (t) => {
  const scene = await startEditorScene(t);
  const { server, editor } = scene;
  const source = policySaying("deny", "x");
  const wrong: readonly (readonly [object, number, string])[] = [
    [{ source: "version: 2" }, 422, "source"],
    [{}, 400, "source"],
    [{ source, since: "yesterday" }, 400, "since"],
    [{ source, since: "2026-13-01T00:00:00Z" }, 400, "since"],
    [{ source, since: "1h", until: "2h" }, 400, "until"],
    [{ source, limit: 0 }, 400, "limit"],
    [{ source, limit: 100_001 }, 400, "limit"],
    [{ source, examples: -1 }, 400, "examples"],
    [{ source, instance_id: "x" }, 400, "instance_id"],
  ];
  for (const [body, status, param] of wrong) {
    const path = "/review/v1/policy/simulate";
    const answer = await server.call<ErrorResponse>("POST", path, { token: editor, body });
    assert.deepEqual([answer.status, answer.json.error.param], [status, param], answer.text);
  }
  // None of them holds a place.
  await simulate(scene, source);
});

test("[ours.policy.simulate.silent] a simulation writes nothing and wakes no waiters", async (t) => {
  const scene = await startEditorScene(t);
  const { server, instance } = scene;
  await storePast(server, instance.id, 20);
  const { store, wake } = server.provider.context;
  const tables = ["request", "audit_entry", "policy_version", "notification", "instance"];
  const rows = async () =>
    Promise.all(tables.map((table) => store.all(`select * from ${table} order by 1, 2`)));
  const before = await rows();
  const signals: unknown[] = [];
  wake.onSignal((signal) => signals.push(signal));
  await simulate(scene, policySaying("approve", "deploy"));
  await simulate(scene, policySaying("deny", "deploy"), {}, "floor");
  assert.deepEqual(await rows(), before);
  assert.deepEqual(signals, []);
});

test("[ours.policy.simulate.responsive] others have their turns all the way through some thousand requests", async (t) => {
  const scene = await startEditorScene(t);
  const { server, instance } = scene;
  await storePast(server, instance.id, 3_000);
  const now = scene.clock.now();
  const order: SimulationOrder = {
    scope: "project",
    source: policySaying("deny", "deploy"),
    since: 0,
    until: now,
    instanceId: undefined,
    limit: 100_000,
    examples: 0,
  };
  let turns = 0;
  let isOver = false;
  const others = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  const caller: ReviewerCaller = {
    kind: "reviewer",
    role: "editor",
    projectId: await projectIdOf(server),
    reviewerId: "r",
    credentialId: "c",
    name: "Ed",
    groups: [],
    isBot: false,
    scopes: null,
    personId: null,
    session: null,
  };
  const turnsAt: number[] = [];
  const events: string[] = [];
  await simulatePolicy(server.provider.context, caller, order, {
    signal: new AbortController().signal,
    async emit({ kind }) {
      events.push(kind);
      if (kind === "progress") turnsAt.push(turns);
    },
  });
  isOver = true;
  await others;
  assert.deepEqual(events, ["started", ...Array(6).fill("progress"), "ended"]);
  // A turn for every page of a hundred at least.
  turnsAt.reduce((before, after) => {
    assert.ok(after - before >= 4, `${turnsAt}`);
    return after;
  });
});

/** A client that reads nothing by itself: the simulation is held where its answer is full. */
async function startHeld(
  { server }: Scene,
  token: string,
  source: string,
): Promise<{ readonly status: number | undefined; hangUp(): void }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const exchange = httpRequest(`${server.url}/review/v1/policy/simulate`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    agent: false,
  });
  exchange.on("response", resolve).on("error", reject);
  exchange.end(JSON.stringify({ source, examples: 100_000 }));
  const response = await promise;
  response.on("error", () => {});
  return { status: response.statusCode, hangUp: () => exchange.destroy() };
}

/** Enough of them to fill every buffer on the way to a client that does not read. */
function storeLong(scene: Scene, instanceId: string): Promise<unknown> {
  const tool = JSON.stringify(`deploy${"y".repeat(20_000)}`);
  return storePast(scene.server, instanceId, 1_000, () => ({ tool }));
}

test("[ours.policy.simulate.responsive] one project has one simulation at a time and a process two, and a place is free again when a client hangs up", async (t) => {
  const scene = await startEditorScene(t);
  const { server, editor, instance } = scene;
  const second = await server.token({ kind: "reviewer", project: "two", role: "editor" });
  const third = await server.token({ kind: "reviewer", project: "three", role: "editor" });
  await storeLong(scene, instance.id);
  await storeLong(scene, (await server.instance("two")).id);
  const source = policySaying("deny", "deploy*");
  const start = (token: string) =>
    server.call<ErrorResponse>("POST", "/review/v1/policy/simulate", {
      token,
      body: { source: policySaying("deny", "x") },
    });

  const held = await startHeld(scene, editor, source);
  assert.equal(held.status, 200);
  const refused = await start(editor);
  assert.deepEqual([refused.status, refused.json.error.code], [429, "rate_limited"]);
  assert.match(refused.json.error.message, /^Another simulation of this project is running/);
  assert.equal(refused.headers.get("retry-after"), "5");
  const other = await startHeld(scene, second, source);
  const full = await start(third);
  assert.deepEqual([full.status, full.json.error.code], [503, "unavailable"]);
  assert.match(full.json.error.message, /^Too many simulations/);
  // The calls of others still work.
  const { id } = await server.submit(instance.token);
  assert.equal((await server.decide(scene.reviewer, id, "approve")).status, 200);

  held.hangUp();
  await until(async () => (await start(third)).status === 200, "the place is free");
  await until(async () => (await start(editor)).status === 200, "the project's place is free");
  other.hangUp();
  await until(async () => (await start(second)).status === 200, "the other place is free");
});

test("[ours.policy.simulate.responsive] a simulation ends when the server stops", async (t) => {
  const scene = await startEditorScene(t);
  const { server, editor, instance } = scene;
  await storeLong(scene, instance.id);
  const response = await fetch(`${server.url}/review/v1/policy/simulate`, {
    method: "POST",
    headers: { authorization: `Bearer ${editor}`, "content-type": "application/json" },
    body: JSON.stringify({ source: policySaying("deny", "deploy*"), examples: 100_000 }),
  });
  const stopped = server.stop();
  const lines = (await response.text()).trimEnd().split("\n");
  const { error } = JSON.parse(lines.at(-1) ?? "") as ErrorResponse;
  assert.deepEqual(
    [error.code, error.message],
    ["unavailable", "The server is stopping. Retry in a few seconds."],
  );
  assert.equal(error.request_id, response.headers.get("x-request-id"));
  await stopped;
});
