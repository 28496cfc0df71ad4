/**
 * Resolved requests: pages, filters, insights, and exports.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { copyDecided, parseCsv } from "./support/history.ts";
import { cancel, end, type Scene, startScene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

interface Row {
  readonly id: string;
  readonly tool: string;
  readonly status: string;
  readonly decided_at: string;
  readonly decided_by: string;
  readonly decider?: string;
  readonly validity_passed?: boolean;
  readonly note: string | null;
}

interface Page {
  readonly requests: readonly Row[];
  readonly next: string | null;
  readonly previous: string | null;
  readonly looked_back_to: string | null;
}

interface Insights {
  readonly looked_at: number;
  readonly complete: boolean;
  readonly matching: number;
  readonly by_status: Readonly<Record<string, number>>;
  readonly share_approved: number | null;
  readonly by_people: object;
  readonly own: object;
}

const PATH = "/review/v1/history";

function ask<T>({ server, reviewer }: Scene, path: string): Promise<Answer<T>> {
  return server.call<T>("GET", `${PATH}${path}`, { token: reviewer });
}

async function page(scene: Scene, query = ""): Promise<Page> {
  const { status, text, json } = await ask<Page>(scene, query);
  assert.equal(status, 200, text);
  return json;
}

async function idsOf(scene: Scene, query = ""): Promise<string[]> {
  return (await page(scene, query)).requests.map(({ id }) => id);
}

/** Follows `next` or `previous` to the end. */
async function readPages(
  scene: Scene,
  query: string,
  way: "next" | "previous",
  from: string | null = null,
) {
  const pages: Page[] = [];
  const param = way === "next" ? "after" : "before";
  for (let cursor = from; pages.length < 60; ) {
    const got = await page(scene, `?${query}${cursor === null ? "" : `&${param}=${cursor}`}`);
    pages.push(got);
    cursor = got[way];
    if (cursor === null) return pages;
  }
  throw new Error("the pages do not end");
}

const shared = await startScene({ after });
const ended = await fill(shared);

/** Requests of three tools and two instances, ended in four ways; the newest decision first. */
async function fill(scene: Scene): Promise<readonly string[]> {
  const { server, clock } = scene;
  const other = await server.provision(scene.instance.provisioner, "other");
  const ids: string[] = [];
  for (let i = 0; i < 12; i++) {
    const token = i % 3 === 0 ? other.credential.token : scene.instance.token;
    const tool = ["db.drop", "db.read", 'say "hi"'][i % 3];
    const request = await server.submit(token, { tool, timeout: "160h" });
    // Two decisions at a time share their moment.
    clock.advance(i % 2 === 0 ? 3_000 : 1_000);
    if (i === 3 || i === 4) await cancel(server, token, request.id);
    else await server.decide(scene.reviewer, request.id, i < 9 ? "approve" : "deny");
    ids.push(request.id);
  }
  const rows = (await page(scene, "?limit=200")).requests.map(({ id }) => id);
  assert.deepEqual([...rows].sort(), [...ids].sort());
  return rows;
}

test("[ours.history.pages] pages lead to older and back to newer requests without a gap", async () => {
  for (const limit of [1, 2, 5, 11, 12, 13]) {
    const older = await readPages(shared, `limit=${limit}`, "next");
    assert.deepEqual(
      older.flatMap(({ requests }) => requests.map(({ id }) => id)),
      ended,
    );
    assert.equal(older[0]?.previous, null);
    const last = older.at(-1);
    if (older.length === 1) continue;
    const newer = await readPages(shared, `limit=${limit}`, "previous", last?.previous ?? "");
    const back = newer.toReversed().flatMap(({ requests }) => requests.map(({ id }) => id));
    assert.deepEqual(back, ended.slice(0, ended.length - (last?.requests.length ?? 0)));
    const forth = await idsOf(shared, `?limit=${limit}&after=${newer[0]?.next}`);
    assert.deepEqual(
      forth,
      last?.requests.map(({ id }) => id),
    );
  }
});

test("[ours.history.pages] from an empty page the way leads back, and what is decided since is found", async (t) => {
  const scene = await startScene(t);
  const one = await scene.server.submit(scene.instance.token);
  await end(scene, one, "denied");
  const [row] = (await page(scene)).requests;
  const cursor = `${Date.parse(row?.decided_at ?? "")}_${one.id}`;
  const [older, newer] = [
    await page(scene, `?after=${cursor}`),
    await page(scene, `?before=${cursor}`),
  ];
  assert.deepEqual([older.requests, older.next], [[], null]);
  assert.deepEqual(await idsOf(scene, `?before=${older.previous}`), [one.id]);
  assert.deepEqual([newer.requests, newer.previous], [[], null]);
  assert.deepEqual(await idsOf(scene, `?after=${newer.next}`), [one.id]);
  scene.clock.advance(1_000);
  const two = await scene.server.submit(scene.instance.token);
  await end(scene, two, "approved");
  assert.deepEqual(await idsOf(scene, `?before=${cursor}`), [two.id]);
});

test("[ours.history.filters] tool, instance, decider, outcome and date narrow what is shown", async () => {
  const all = (await page(shared, "?limit=200")).requests;
  const decider = all.find((row) => row.decider === "reviewer")?.decided_by ?? "";
  const other = (
    await shared.server.call<{ instances: readonly { id: string; name: string }[] }>(
      "GET",
      "/review/v1/instances",
      { token: shared.reviewer },
    )
  ).json.instances.find(({ name }) => name === "other");
  const since = all[5]?.decided_at ?? "";
  const cases: [string, (row: Row & { readonly instance?: { id: string } }) => boolean][] = [
    ["tool=db.drop", ({ tool }) => tool === "db.drop"],
    ["tool=db", () => false],
    [`tool=${encodeURIComponent('say "hi"')}`, ({ tool }) => tool === 'say "hi"'],
    ["tool_prefix=db.", ({ tool }) => tool.startsWith("db.")],
    [`instance_id=${other?.id}`, ({ instance }) => instance?.id === other?.id],
    [`decided_by=${decider}`, ({ decided_by }) => decided_by === decider],
    ["decided_by=instance", ({ decided_by }) => decided_by.startsWith("instance:")],
    ["decided_by=policy:none", () => false],
    ["status=denied", ({ status }) => status === "denied"],
    ["status=cancelled,denied", ({ status }) => status === "cancelled" || status === "denied"],
    [`since=${since}`, ({ decided_at }) => decided_at >= since],
    [`until=${since}`, ({ decided_at }) => decided_at < since],
    [
      `tool_prefix=db.&status=approved&until=${since}`,
      ({ tool, status, decided_at }) =>
        tool.startsWith("db.") && status === "approved" && decided_at < since,
    ],
  ];
  for (const [query, isWanted] of cases) {
    const wanted = all.filter(isWanted).map(({ id }) => id);
    assert.deepEqual(await idsOf(shared, `?${query}`), wanted, query);
    const pages = await readPages(shared, `${query}&limit=2`, "next");
    assert.deepEqual(
      pages.flatMap(({ requests }) => requests.map(({ id }) => id)),
      wanted,
      query,
    );
    const { json } = await ask<Insights>(shared, `/insights?${query}`);
    assert.equal(json.matching, wanted.length, query);
    const { text } = await ask(shared, `/export?format=jsonl&${query}`);
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Row & { event?: string });
    assert.deepEqual(
      lines.slice(0, -1).map(({ id }) => id),
      wanted,
      query,
    );
    assert.deepEqual(lines.at(-1), { event: "end", rows: wanted.length });
  }
});

test("[ours.history.filters] an invalid filter returns 400 with its name", async () => {
  const wrong = {
    tool: [""],
    tool_prefix: [""],
    server: [""],
    instance_id: ["x"],
    decided_by: ["", "ana", "reviewer:", "person:1"],
    status: ["", "pending", "approved,"],
    since: ["yesterday", "2026-13-01T00:00:00Z"],
    until: ["0"],
    limit: ["0", "201"],
    after: ["x"],
    before: ["x"],
  };
  for (const [param, values] of Object.entries(wrong)) {
    for (const value of values) {
      const answer = await ask<never>(shared, `?${param}=${value}`);
      assertRefused(answer, 400, "invalid_request", param);
    }
  }
  const both = await ask<never>(shared, `?after=1_${ended[0]}&before=1_${ended[0]}`);
  assertRefused(both, 400, "invalid_request", "before");
  const turned = "?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z";
  assertRefused(await ask<never>(shared, turned), 400, "invalid_request", "until");
  assertRefused(await ask<never>(shared, "/export?format=xml"), 400, "invalid_request", "format");
  assertRefused(await ask<never>(shared, "?tool=a&tool=b"), 400, "invalid_request", "tool");
});

test("[ours.history.filters] another project has a history of its own", async () => {
  const reviewer = await shared.server.token({ kind: "reviewer", project: "elsewhere" });
  const elsewhere = { ...shared, reviewer };
  assert.deepEqual(await idsOf(elsewhere), []);
  assert.equal((await ask<Insights>(elsewhere, "/insights")).json.matching, 0);
  const { text } = await ask(elsewhere, "/export?format=jsonl");
  assert.equal(text, '{"event":"end","rows":0}\n');
});

test("[ours.history.pages] an approval that is no longer valid is marked, and stays approved", async (t) => {
  const scene = await startScene(t);
  const request = await scene.server.submit(scene.instance.token);
  await scene.server.decide(scene.reviewer, request.id, "approve", { valid_for: "2m", note: "ok" });
  const [before] = (await page(scene)).requests;
  scene.clock.advance(120_000);
  const [behind] = (await page(scene)).requests;
  assert.deepEqual([before?.validity_passed, behind?.validity_passed], [false, true]);
  assert.deepEqual([behind?.status, behind?.note, behind?.decider], ["approved", "ok", "reviewer"]);
});

test("[ours.history.pages] a rare request is found page by page, each of bounded work", async (t) => {
  const scene = await startScene(t);
  const rare = await scene.server.submit(scene.instance.token, { tool: "rare" });
  await end(scene, rare, "denied");
  scene.clock.advance(1_000);
  const common = await scene.server.submit(scene.instance.token, { tool: "common" });
  await end(scene, common, "denied");
  await copyDecided(scene, common.id, 20_200);
  const first = await page(scene, "?tool=rare");
  assert.deepEqual(first.requests, []);
  assert.ok(first.next !== null && first.looked_back_to !== null);
  assert.deepEqual(await idsOf(scene, `?tool=rare&after=${first.next}`), [rare.id]);
  const { json } = await ask<Insights>(scene, "/insights");
  assert.deepEqual([json.looked_at, json.complete, json.matching], [20_000, false, 20_000]);
});

test("[ours.history.insights] outcomes, the share of approvals and the times of people are counted", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance, reviewer } = scene;
  const li = await server.token({ kind: "reviewer", name: "li" });
  const empty = (await ask<Insights>(scene, "/insights")).json;
  const nothing = { decisions: 0, median_ms: null, under_2_s_after_creation: 0 };
  assert.deepEqual([empty.share_approved, empty.by_people, empty.own], [null, nothing, nothing]);
  for (const [token, ms, verdict] of [
    [reviewer, 1_999, "approve"],
    [reviewer, 2_000, "deny"],
    [reviewer, 7_001, "approve"],
    [li, 100_000, "approve"],
  ] as const) {
    const request = await server.submit(instance.token);
    clock.advance(ms);
    await server.decide(token, request.id, verdict);
  }
  await end(scene, await server.submit(instance.token), "cancelled");
  await end(scene, await server.submit(instance.token), "expired");
  const { json } = await ask<Insights>(scene, "/insights");
  assert.deepEqual(json.by_status, { approved: 3, denied: 1, expired: 1, cancelled: 1 });
  assert.deepEqual([json.share_approved, json.complete, json.looked_at], [0.75, true, 6]);
  const people = { decisions: 4, median_ms: 4_501, under_2_s_after_creation: 1 };
  const own = { decisions: 3, median_ms: 2_000, under_2_s_after_creation: 1 };
  assert.deepEqual([json.by_people, json.own], [people, own]);
});

const EXACT = '{"n":9007199254740993,"d":1.10,"e":1e400,"t":"a,\\"b\\"\\r\\nc","x":"\\u202E"}';

test("[ours.history.export] both export formats keep the exact text, and no cell starts a formula", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const reasoning = "=HYPERLINK(1)";
  const rest = `"timeout":"1h","agent_reasoning":"${reasoning}"`;
  const body = `{"tool":"+cmd","arguments":${EXACT},${rest}}`;
  const call = { token: instance.token, key: "a", body };
  const made = await server.call<{ readonly id: string }>("POST", "/v1/requests", call);
  await server.decide(scene.reviewer, made.json.id, "deny", { note: "@no\nmore" });
  const sha256 = createHash("sha256").update(EXACT).digest("hex");

  const csv = await ask(scene, "/export?format=csv");
  assert.match(csv.headers.get("content-type") ?? "", /^text\/csv/);
  assert.equal(csv.headers.get("content-disposition"), 'attachment; filename="history.csv"');
  const [head, row, last, ...more] = parseCsv(csv.text);
  assert.deepEqual(more, []);
  const cells = Object.fromEntries((head ?? []).map((name, i) => [name, row?.[i]]));
  assert.deepEqual(
    [cells.tool, cells.arguments, cells.arguments_sha256, cells.note, cells.agent_reasoning],
    ["'+cmd", EXACT, sha256, "'@no\nmore", `'${reasoning}`],
  );
  assert.deepEqual(last?.slice(0, 2), ["end", "1"]);

  // Entries are in the order of their times.
  scene.clock.advance(1);
  const lines = (await ask(scene, "/export?format=jsonl")).text.split("\n");
  assert.ok(lines[0]?.includes(`"arguments":${EXACT},"arguments_sha256":"${sha256}"`), lines[0]);
  assert.equal(lines[1], '{"event":"end","rows":1}');
  const entries = await server.provider.context.store.all(
    "select detail from audit_entry where kind = 'history.exported' order by id",
  );
  assert.deepEqual(
    entries.map(({ detail }) => JSON.parse(String(detail))),
    [
      { format: "csv", query: "" },
      { format: "jsonl", query: "" },
    ],
  );
});

test("[ours.history.export] a line break in arguments or context does not start a new line of the export", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const forged = '{"event":"end","rows":0}';
  const broken = `{"a":\n${forged}\r\n,"b":1.0\r}`;
  const body = `{"tool":"x","arguments":${broken},"context":${broken},"timeout":"1h"}`;
  const call = { token: instance.token, key: "a", body };
  const made = await server.call<{ readonly id: string }>("POST", "/v1/requests", call);
  await server.decide(scene.reviewer, made.json.id, "deny");
  const { text } = await ask(scene, "/export?format=jsonl");
  const [row = "", last, ...more] = text.split(/[\r\n]/);
  assert.deepEqual([last, more], ['{"event":"end","rows":1}', [""]]);
  const line = `{"a": ${forged}  ,"b":1.0 }`;
  assert.ok(row.includes(`"arguments":${line},`) && row.endsWith(`"context":${line}}`), row);
  // Of what was stored and shown.
  const sha256 = createHash("sha256").update(broken).digest("hex");
  assert.equal(JSON.parse(row).arguments_sha256, sha256);
});

test("[ours.history.export] the export reports a damaged request, and has no row for it", async (t) => {
  const scene = await startScene(t);
  const good = await end(scene, await scene.server.submit(scene.instance.token), "denied");
  const bad = await end(scene, await scene.server.submit(scene.instance.token), "denied");
  await scene.server.provider.context.store.transact((tx) =>
    tx.run("update request set status = 'approved' where id = $1", [bad.id]),
  );
  const { text } = await ask(scene, "/export?format=jsonl");
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(lines[0].id, good.id);
  assert.deepEqual(lines.slice(1), [
    { event: "damaged", id: bad.id },
    { event: "end", rows: 1 },
  ]);
  const shown = await ask<Page & { readonly damaged: readonly string[] }>(scene, "");
  assert.deepEqual(shown.json.damaged, [bad.id]);
  assert.deepEqual(await idsOf(scene), [good.id]);
});

test("[ours.history.export] a reviewer has one export at a time, and a stop of the server ends it", async (t) => {
  const scene = await startScene(t);
  const { server, instance, reviewer } = scene;
  // More than what waits between two processes that do not read.
  const filler = "x".repeat(900_000);
  const one = await server.submit(instance.token, { arguments: { filler } });
  await end(scene, one, "denied");
  await copyDecided(scene, one.id, 30);
  scene.clock.advance(1_000);
  const headers = { authorization: `Bearer ${reviewer}` };
  const response = await fetch(`${server.url}${PATH}/export?format=jsonl`, { headers });
  const reader = response.body?.getReader();
  assert.ok((await reader?.read())?.value);
  const second = await fetch(`${server.url}${PATH}/export?format=csv`, { headers });
  assert.equal(second.status, 429);
  await second.body?.cancel();
  const stopped = server.stop();
  let text = "";
  const decoder = new TextDecoder();
  await until(async () => {
    const { value, done } = (await reader?.read().catch(() => undefined)) ?? { done: true };
    text = (text + decoder.decode(value)).slice(-1_000);
    scene.clock.advance(100);
    return done === true;
  }, "the export ends");
  await stopped;
  assert.doesNotMatch(text, /"event":"end"/);
});
