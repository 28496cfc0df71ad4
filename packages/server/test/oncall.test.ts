/**
 * On-call schedules: an escalation reaches the reviewers who are on call, from a rota, a calendar,
 * PagerDuty or Opsgenie.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Schedule } from "@countersign/review-api";
import { passTime, startChannelScene } from "./support/channel-scene.ts";
import { callAs, newPerson } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { auditOf } from "./support/scene.ts";
import { createSelfSigned } from "./support/self-signed.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";
import { type AnswerMessage, startTlsReceiver } from "./support/tls-receiver.ts";
import { until } from "./support/until.ts";

const MIN = 60_000;

const STEPS = "escalate: [{ after: 5m, to: oncall:payments }]";
const RULE = `{ id: r, match: { tool: "*" }, then: ask, ask: { from: group:dev, ${STEPS} } }`;

const IDENTITY = createSelfSigned();

async function startScene(t: TestContext, answer?: AnswerMessage) {
  const source = await startTlsReceiver(t, answer, { identity: IDENTITY });
  const scene = await startChannelScene(t, { ca: [source.certificate] });
  const ana = await newPerson(scene.server, { login: "ana" });
  await enforce(scene.server, policyOf(RULE));
  return { ...scene, source, ana };
}

type OnCallScene = Awaited<ReturnType<typeof startScene>>;

function put({ server, admin }: OnCallScene, body: object, name = "payments") {
  return server.call("PUT", "/review/v1/schedules", { token: admin, body: { name, ...body } });
}

async function listed({ server, admin }: OnCallScene): Promise<readonly Schedule[]> {
  const path = "/review/v1/schedules";
  const { json } = await server.call<{ schedules: Schedule[] }>("GET", path, { token: admin });
  return json.schedules;
}

async function untilState(scene: OnCallScene, state: Schedule["state"]): Promise<Schedule> {
  await until(async () => {
    await passTime(scene, 1_000);
    return (await listed(scene))[0]?.state === state;
  }, `the schedule is ${state}`);
  return (await listed(scene))[0] ?? assert.fail();
}

function show({ server, ana }: OnCallScene, id: string) {
  return callAs<ReviewedRequest>(server, ana, "GET", `/requests/${id}`);
}

type Escalated = { readonly escalate?: readonly { readonly on_call?: readonly string[] }[] };

async function onCallOf(scene: OnCallScene, id: string): Promise<readonly string[] | undefined> {
  const { requirement } = (await show(scene, id)).json;
  return (requirement as Escalated).escalate?.[0]?.on_call;
}

/** Asks, lets the step become due, and waits until it is applied. */
async function escalated(scene: OnCallScene): Promise<string> {
  const { id } = await scene.server.submit(scene.instance.token);
  assert.equal((await show(scene, id)).json.may_decide.approve, false);
  scene.clock.advance(5 * MIN);
  await until(async () => {
    await passTime(scene, 1_000);
    return (await onCallOf(scene, id)) !== undefined;
  }, "the step is applied");
  return id;
}

async function escalationEntry(scene: OnCallScene, id: string) {
  const entries = await auditOf(scene, `request:${id}`);
  return entries.find(({ kind }) => kind === "request.escalated");
}

async function approve({ server, ana }: OnCallScene, id: string, digest: string) {
  const body = { verdict: "approve", arguments_sha256: digest };
  return callAs(server, ana, "POST", `/requests/${id}/verdict`, { body });
}

const ROTA = {
  kind: "static",
  reviewers: ["ana"],
  starts_at: "2020-01-06T09:00:00Z",
  days: 7,
  time_zone: "Europe/Berlin",
};

test("[ours.oncall.escalation] the reviewer on call may decide from the time of the step on", async (t) => {
  const scene = await startScene(t);
  const written = await put(scene, { source: ROTA });
  assert.equal(written.status, 200, written.text);
  const id = await escalated(scene);
  assert.deepEqual(await onCallOf(scene, id), ["reviewer:ana"]);
  const { may_decide, arguments_sha256 } = (await show(scene, id)).json;
  assert.equal(may_decide.approve, true);
  const entry = await escalationEntry(scene, id);
  assert.deepEqual(entry?.detail.on_call, ["reviewer:ana"]);
  assert.equal((await approve(scene, id, arguments_sha256)).status, 200);
  assert.equal((await scene.server.read(scene.instance.token, id)).status, "approved");
});

test("[ours.oncall.unreached] a step that reaches no reviewer is visible, and is repeated until it reaches one", async (t) => {
  const scene = await startScene(t);
  assert.equal((await put(scene, { source: { ...ROTA, reviewers: ["somebody"] } })).status, 200);
  const id = await escalated(scene);
  assert.deepEqual(await onCallOf(scene, id), []);
  const entry = await escalationEntry(scene, id);
  assert.equal(entry?.detail.problem, "unknown_people");
  assert.equal((await show(scene, id)).json.may_decide.approve, false);
  assert.equal((await put(scene, { source: ROTA })).status, 200);
  await until(async () => {
    await passTime(scene, 10_000);
    return (await onCallOf(scene, id))?.length === 1;
  }, "the step reaches the reviewer");
  assert.equal((await scene.server.read(scene.instance.token, id)).status, "pending");
});

test("[ours.oncall.pagerduty] users of PagerDuty are reviewers only by the mapping", async (t) => {
  const oncalls = [
    { user: { id: "PANA" }, start: null, end: null },
    { user: { id: "PUNKNOWN" }, start: null, end: null },
  ];
  const scene = await startScene(t, (_, response) =>
    response.writeHead(200).end(JSON.stringify({ oncalls })),
  );
  const url = scene.source.url("");
  const source = { kind: "pagerduty", url, schedule: "P1", token: "SECRETTOKEN" };
  assert.equal((await put(scene, { source, people: { PANA: "ana" } })).status, 200);
  const { on_call } = await untilState(scene, "current");
  assert.deepEqual(on_call, [{ who: "PANA", reviewer: "ana" }, { who: "PUNKNOWN" }]);
  const [fetched] = scene.source.requests;
  assert.equal(fetched?.method, "GET");
  assert.equal(fetched?.headers.authorization, "Token token=SECRETTOKEN");
  const id = await escalated(scene);
  assert.deepEqual(await onCallOf(scene, id), ["reviewer:ana"]);
  const shown = await scene.server.call("GET", "/review/v1/schedules", { token: scene.admin });
  assert.doesNotMatch(shown.text, /SECRETTOKEN/);
});

test("[ours.oncall.unavailable] a failing source keeps its shifts for an hour, and is then unavailable", async (t) => {
  let isDown = false;
  const data = { onCallRecipients: ["ana@example.com"] };
  const scene = await startScene(t, (_, response) => {
    if (isDown) response.writeHead(503).end("SECRETTOKEN");
    else response.writeHead(200).end(JSON.stringify({ data }));
  });
  const source = {
    kind: "opsgenie",
    url: scene.source.url(""),
    schedule: "s",
    token: "SECRETTOKEN",
  };
  assert.equal((await put(scene, { source, people: { "ana@example.com": "ana" } })).status, 200);
  await untilState(scene, "current");
  isDown = true;
  await until(async () => {
    await passTime(scene, 10_000);
    return (await listed(scene))[0]?.failure === "status:503";
  }, "the failure is listed");
  assert.deepEqual((await listed(scene))[0]?.on_call, [
    { who: "ana@example.com", reviewer: "ana" },
  ]);
  scene.clock.advance(60 * MIN);
  assert.deepEqual((await untilState(scene, "unavailable")).on_call, []);
  isDown = false;
  await untilState(scene, "current");
});

test("[ours.oncall.ical] a calendar is fetched, and its attendees are mapped", async (t) => {
  const calendar = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:test",
    "BEGIN:VEVENT",
    "UID:1",
    "DTSTAMP:20200101T000000Z",
    "DTSTART:20200101T000000Z",
    "DTEND:20200102T000000Z",
    "RRULE:FREQ=DAILY",
    "ATTENDEE:mailto:ana@example.com",
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ].join("\r\n");
  const scene = await startScene(t, (_, response) => response.writeHead(200).end(calendar));
  const source = { kind: "ical", url: scene.source.url("/rota.ics") };
  assert.equal((await put(scene, { source, people: { "ana@example.com": "ana" } })).status, 200);
  const { on_call } = await untilState(scene, "current");
  assert.deepEqual(on_call, [{ who: "ana@example.com", reviewer: "ana" }]);
});

test("[ours.oncall.input] invalid schedules are rejected, and only administrators write them", async (t) => {
  const scene = await startScene(t);
  const reject = async (body: object, text: RegExp, name?: string) => {
    const answer = await put(scene, body, name);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, text);
  };
  await reject({ source: { ...ROTA, time_zone: "Mars/Base" } }, /time_zone/);
  await reject({ source: { ...ROTA, days: 0 } }, /days/);
  await reject({ source: { ...ROTA, reviewers: [] } }, /reviewers/);
  await reject({ source: { kind: "ical", url: "http://example.com/a.ics" } }, /url/);
  await reject({ source: { kind: "rota" } }, /kind/);
  await reject({ source: ROTA }, /name/, "Payments!");
  const path = "/review/v1/schedules";
  const { server, reviewer } = scene;
  const call = { token: reviewer, body: { name: "payments", source: ROTA } };
  assert.equal((await server.call("PUT", path, call)).status, 403);
  assert.equal((await put(scene, { source: ROTA })).status, 200);
  const [made] = await listed(scene);
  const own = `${path}/${made?.id}`;
  assert.equal((await server.call("DELETE", own, { token: scene.admin })).status, 200);
  assert.deepEqual(await listed(scene), []);
});
