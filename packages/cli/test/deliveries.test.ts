import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { before, type TestContext, test } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { fileOwner, type Outcome } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";
import {
  type Notified,
  newNotified,
  notify,
  SENDS_NOTHING,
  withStore,
} from "@countersign/testing/deliveries";

const URL_WITH_SECRETS = "https://hooks.example.com:8443/t0ken-in-path?k3y=in-query";
const UNKNOWN = "01a1fb6b-6ba3-7554-8ce5-a39d503b8141";
const HOUR_MS = 3_600_000;

const file = fileOwner();
let server: Server;
let projects = 0;

before(async () => {
  server = await startServer(file, { args: SENDS_NOTHING });
});

function newProject(url = URL_WITH_SECRETS): Promise<Notified> {
  return newNotified(server, `project${++projects}`, url);
}

/** Columns of one that failed and is tried again after so many hours and a half minute. */
function failed(hours: number, columns: object = {}): Record<string, string | number> {
  const now = Date.now();
  return {
    attempts: 3,
    last_at: now,
    last_outcome: "rejected",
    last_status: 500,
    next_at: now + hours * HOUR_MS + 30_000,
    ...columns,
  };
}

function run(t: TestContext, { reviewer }: Notified, ...args: string[]): Promise<Outcome> {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  return countersign(t, ["deliveries", ...args], { env });
}

/** @returns stdout of a command that is done and has nothing to remark */
async function deliveries(t: TestContext, who: Notified, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(t, who, ...args);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.doesNotMatch(stdout, /t0ken|k3y|s3cret/);
  return stdout;
}

/** Nothing on stdout, and every line of stderr says who speaks. */
function assertClear({ code, stdout, stderr }: Outcome, exitCode: number): void {
  assert.equal(code, exitCode, stdout + stderr);
  assert.equal(stdout, "");
  assert.match(stderr, /^(countersign: .+\n)+$/);
}

test("[ours.deliveries.cli] list shows what waits by its next attempt, each on one line", async (t) => {
  const who = await newProject();
  assert.equal(await deliveries(t, who, "list"), "No delivery is pending.\n");
  const late = await notify(server, who, failed(5));
  const soon = await notify(
    server,
    who,
    failed(2, { last_outcome: "unreachable:tls", last_status: null }),
  );
  const due = await notify(server, who);
  const lines = (await deliveries(t, who, "list")).trimEnd().split("\n");
  assert.match(lines[0] ?? "", /^DELIVERY +NEXT +TRIES +INSTANCE +RECEIVER +LAST ATTEMPT$/);
  const name = `project${projects}-bot`;
  const where = `${name} +hooks\\.example\\.com:8443`;
  assert.match(lines[1] ?? "", new RegExp(`^${due.id}  now +0 +${where}$`));
  assert.match(lines[2] ?? "", new RegExp(`^${soon.id}  in 2h 0m +3 +${where} +TLS failed$`));
  const answered = "the receiver answered 500";
  assert.match(lines[3] ?? "", new RegExp(`^${late.id}  in 5h 0m +3 +${where} +${answered}$`));
  assert.equal(lines.length, 4);
});

test("[ours.deliveries.cli] list --ended shows how deliveries ended, the latest first", async (t) => {
  const who = await newProject();
  assert.equal(await deliveries(t, who, "list", "--ended"), "No delivery has ended.\n");
  const now = Date.now();
  const ends = {
    acknowledged: "delivered",
    window: "given up after 168h",
    removal: "receiver removed",
  };
  const expected: string[] = [];
  for (const [ended_by, words] of Object.entries(ends)) {
    const ended = { next_at: null, ended_at: now + expected.length, ended_by };
    const { id } = await notify(server, who, ended);
    expected.unshift(`${id}  ${words}`);
  }
  const [, ...rows] = (await deliveries(t, who, "list", "--ended")).trimEnd().split("\n");
  assert.deepEqual(
    rows.map((row, i) => row.slice(0, expected[i]?.length)),
    expected,
  );
});

test("[ours.deliveries.cli] list follows the pages of the server up to its limit", async (t) => {
  const who = await newProject();
  const at = Date.now() + HOUR_MS;
  for (let i = 0; i < 230; i++) await who.agent.cancel((await who.agent.submit()).id);
  const sql = "update notification set next_at = $1 where instance_id = $2";
  await withStore(server, (store) => store.transact((tx) => tx.run(sql, [at, who.instanceId])));
  for (const [limit, shown, note] of [
    ["1", 1, "Only the first 1 are shown. Raise --limit to see more.\n"],
    ["220", 220, "Only the first 220 are shown. Raise --limit to see more.\n"],
    ["1000", 230, ""],
  ] as const) {
    const { stdout, stderr } = await run(t, who, "list", "--limit", limit);
    const ids = stdout
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((row) => row.slice(0, 36));
    assert.deepEqual([new Set(ids).size, ids.length, stderr], [shown, shown, note]);
  }
});

test("[ours.deliveries.cli] deliveries show prints attempts, last outcome, next attempt and end", async (t) => {
  const who = await newProject();
  const { id, requestId } = await notify(server, who, failed(1));
  const card = await deliveries(t, who, "show", id);
  const name = `project${projects}-bot`;
  const time = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z";
  const expected = [
    `delivery   ${id}`,
    `request    ${requestId}, decided ${time}`,
    `instance   ${name}  ${who.instanceId}`,
    "receiver   https://hooks\\.example\\.com:8443",
    "status     waiting, next attempt in 1h 0m",
    "attempts   3",
    `last       ${time}, the receiver answered 500`,
    `gives up   in 6d 23h, ${time}`,
  ];
  assert.match(card, new RegExp(`^${expected.join("\n")}\n$`));
  assert.equal(await deliveries(t, who, "show", requestId), card);
});

test("[ours.deliveries.cli] retry-now makes one delivery due, or all of an instance", async (t) => {
  const who = await newProject();
  const first = await notify(server, who, failed(1));
  const second = await notify(server, who, failed(1));
  await notify(server, who, failed(1));
  assert.equal(await deliveries(t, who, "retry-now", first.id), `${first.id} is due now.\n`);
  assert.match(
    await deliveries(t, who, "show", first.id),
    /^status +waiting, next attempt due now$/m,
  );
  assert.match(await deliveries(t, who, "show", second.id), /next attempt in 59m|in 1h/);

  const all = ["retry-now", "--instance", who.instanceId];
  assert.equal(await deliveries(t, who, ...all), "Due now: 2 deliveries.\n");
  assert.match(await deliveries(t, who, "show", second.id), /next attempt due now/);
  const none = "No delivery of this instance is scheduled for later.\n";
  assert.equal(await deliveries(t, who, ...all), none);
});

test("[ours.deliveries.cli] retry-now reports an attempt in progress, and fails for an ended delivery", async (t) => {
  const who = await newProject();
  const lease = Date.now() + HOUR_MS;
  const { id } = await notify(server, who, { claimed_until: lease, next_at: lease });
  assert.equal(await deliveries(t, who, "retry-now", id), `An attempt of ${id} is in progress.\n`);
  assert.match(await deliveries(t, who, "list"), new RegExp(`^${id}  sending `, "m"));
  assert.match(await deliveries(t, who, "show", id), /^status +an attempt is in progress$/m);
  const ended = { next_at: null, ended_at: Date.now(), ended_by: "acknowledged" };
  const done = await notify(server, who, ended);
  const outcome = await run(t, who, "retry-now", done.id);
  assertClear(outcome, 1);
  assert.match(outcome.stderr, /has ended: the receiver acknowledged it/);
  assert.match(await deliveries(t, who, "show", done.id), /^status +ended at .+Z: delivered$/m);
});

test("[ours.deliveries.cli] with --json every command prints what the server answered, alone", async (t) => {
  const who = await newProject();
  const { id } = await notify(server, who, failed(1));
  const path = `${server.url}/review/v1/deliveries/${id}`;
  const { text } = await exchange("GET", path, who.reviewer);
  assert.equal(await deliveries(t, who, "show", id, "--json"), `${text}\n`);
  assert.equal(await deliveries(t, who, "list", "--json"), `[${text}]\n`);
  assert.equal(await deliveries(t, who, "list", "--ended", "--json"), "[]\n");
  const all = await deliveries(t, who, "retry-now", "--instance", who.instanceId, "--json");
  assert.deepEqual(JSON.parse(all), { instance_id: who.instanceId, hurried: 1 });
  const one = JSON.parse(await deliveries(t, who, "retry-now", id, "--json")) as { id: string };
  assert.equal(one.id, id);
});

test("[ours.deliveries.cli] wrong usage prints one line, exit code 2", async (t) => {
  const who = await newProject();
  const cases: Readonly<Record<string, RegExp>> = {
    "": /takes one of list, show, retry-now/,
    retry: /list, show, retry-now, not "retry"/,
    "list --limit 0": /from 1 to 1000/,
    "list --limit 1001": /from 1 to 1000/,
    "list all": /unexpected argument "all"/,
    "list --state ended": /no option --state/,
    show: /the id of the delivery is missing/,
    "retry-now": /the id of the delivery, or --instance ID, is missing/,
    [`retry-now ${UNKNOWN} ${UNKNOWN}`]: /unexpected argument/,
    [`retry-now ${UNKNOWN} --instance ${UNKNOWN}`]: /give either/,
    "retry-now --instance mine": /--instance must be the id of an instance/,
  };
  for (const [args, message] of Object.entries(cases)) {
    const outcome = await run(t, who, ...args.split(" ").filter((word) => word !== ""));
    assertClear(outcome, 2);
    assert.match(outcome.stderr, message);
  }
});

test("[ours.deliveries.scope] an unknown delivery, or one of another project, exits with 1", async (t) => {
  const who = await newProject();
  const unrelated = await newProject();
  const { id } = await notify(server, who, failed(1));
  for (const args of [
    ["show", id],
    ["retry-now", id],
    ["retry-now", "--instance", who.instanceId],
  ]) {
    assertClear(await run(t, unrelated, ...args), 1);
  }
  for (const wrong of [UNKNOWN, "../../healthz", "\u001b", "retry"]) {
    assertClear(await run(t, who, "show", wrong), 1);
    assertClear(await run(t, who, "retry-now", wrong), 1);
  }
  assert.equal(await deliveries(t, unrelated, "list"), "No delivery is pending.\n");
});

test("[ours.deliveries.role] a viewer can show a delivery, but retry-now exits with 1", async (t) => {
  const who = await newProject();
  const { id } = await notify(server, who, failed(1));
  const order = { kind: "reviewer", name: "guest", role: "viewer" } as const;
  const project = `project${projects}`;
  const viewer = { ...who, reviewer: await makeToken(server.data, { ...order, project }) };
  assert.match(await deliveries(t, viewer, "list"), new RegExp(id));
  const before = await deliveries(t, who, "show", id, "--json");
  for (const args of [[id], ["--instance", who.instanceId]]) {
    assertClear(await run(t, viewer, "retry-now", ...args), 1);
  }
  assert.equal(await deliveries(t, who, "show", id, "--json"), before);
});

test("[ours.cli.untrusted-text] text from strangers in a delivery cannot control the terminal", async (t) => {
  const who = await newProject();
  const hostile = "\u001b]0;owned\u0007\u001b[2J\u009b1m\u202eexe\u200b\r\u2028";
  const rename = "update instance set name = $1 where id = $2";
  await withStore(server, (store) =>
    store.transact((tx) => tx.run(rename, [JSON.stringify(`bot${hostile}`), who.instanceId])),
  );
  const outcome = { last_outcome: `unreachable:${hostile}`, last_status: null };
  const { id } = await notify(server, who, failed(1, outcome));
  for (const args of [["list"], ["show", id], ["retry-now", id]]) {
    const printed = (await deliveries(t, who, ...args)).replaceAll("\n", "");
    assert.doesNotMatch(printed, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, args[0]);
    if (args[0] !== "retry-now") assert.match(printed, /bot\\u\{001B\}\]0;/);
  }
});

test("[ours.deliveries.no-secrets] the output contains no secret, and no path or query of the receiver", async (t) => {
  const who = await newProject();
  const { id } = await notify(server, who, failed(1));
  const ended = { next_at: null, ended_at: Date.now(), ended_by: "window" };
  const over = await notify(server, who, ended);
  const commands = [
    ["list"],
    ["list", "--ended"],
    ["show", id],
    ["show", over.id],
    ["retry-now", id],
    ["retry-now", over.id],
    ["retry-now", "--instance", who.instanceId],
  ];
  for (const args of commands) {
    for (const form of [args, [...args, "--json"]]) {
      const { stdout, stderr } = await run(t, who, ...form);
      assert.doesNotMatch(stdout + stderr, /t0ken|k3y|s3cret|request\.resolved/, form.join(" "));
    }
  }
});

test("[ours.cli.exit-codes] another service in place of countersign is unreachable for deliveries too, exit code 3", async (t) => {
  const who = await newProject();
  const unrelated = createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
  t.after(() => unrelated.close());
  await once(unrelated, "listening");
  const url = `http://127.0.0.1:${(unrelated.address() as AddressInfo).port}`;
  const all = ["retry-now", "--instance", who.instanceId];
  for (const args of [["list"], ["show", UNKNOWN], ["retry-now", UNKNOWN], all]) {
    assertClear(await run(t, who, ...args, "--url", url), 3);
  }
});
