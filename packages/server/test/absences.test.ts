/** Absences: the push messages that wait, and what other reviewers see. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ShownAbsence } from "@countersign/review-api";
import { passTime, startChannelScene, untilNotified } from "./support/channel-scene.ts";
import { callAs, newPerson, type PersonOrder, type SignedInPerson } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { PushBrowser } from "./support/push-browser.ts";
import { auditOf } from "./support/scene.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const MIN = 60_000;
const HOUR = 60 * MIN;

async function startAbsenceScene(t: TestContext, answer?: (path: string) => number) {
  const scene = await startChannelScene(t, {
    ...(answer && {
      answer: (request, response) => response.writeHead(answer(request.path)).end(),
    }),
  });
  const { server, receiver, clock, instance } = scene;
  const member = async (login: string, order: Partial<PersonOrder> = {}) => {
    const person = await newPerson(server, { login, ...order });
    const browser = new PushBrowser(receiver.url(`/push/${login}`));
    const body = browser.toJSON() as object;
    const { status } = await callAs(server, person, "POST", "/account/push", { body });
    assert.equal(status, 201);
    return person;
  };
  const period = (fromMs: number, untilMs: number, substitute?: string) => ({
    from: new Date(clock.now() + fromMs).toISOString(),
    until: new Date(clock.now() + untilMs).toISOString(),
    substitute,
  });
  const away = async (person: SignedInPerson, ...order: Parameters<typeof period>) => {
    const body = period(...order);
    const { status, text } = await callAs(server, person, "PUT", "/absence", { body });
    assert.equal(status, 200, text);
  };
  const got = (login: string) =>
    receiver.requests.filter(({ path }) => path === `/push/${login}`).length;
  const untilGot = (login: string, count = 1) =>
    untilNotified(scene, () => got(login) >= count, `${login} gets ${count} messages`);
  const shown = async (person: SignedInPerson) =>
    (await callAs<{ absences: ShownAbsence[] }>(server, person, "GET", "/absences")).json.absences;
  /** @returns the id of the pending request */
  const submit = async () => (await server.submit(instance.token, { timeout: "24h" } as object)).id;
  return { ...scene, member, period, away, got, untilGot, shown, submit };
}

test("[ours.absence.push] the substitute gets the push instead; the absent reviewer gets it on return", async (t) => {
  const scene = await startAbsenceScene(t);
  const { member, away, got, untilGot, submit, server } = scene;
  const ana = await member("ana");
  await member("ben");
  await away(ana, 0, 10 * MIN, "ben");
  const decided = await submit();
  await untilGot("ben");
  await passTime(scene, 5_000);
  assert.equal(got("ana"), 0);
  await server.decide(scene.reviewer, decided, "deny");
  await submit();
  await untilGot("ben", 2);
  await passTime(scene, 5_000);
  assert.equal(got("ana"), 0);
  scene.clock.advance(10 * MIN);
  await untilGot("ana");
  assert.equal(got("ana"), 1);
});

test("[ours.absence.push] a substitute who may not decide the request, or gets no push, replaces no reviewer", async (t) => {
  const scene = await startAbsenceScene(t);
  const { member, away, got, untilGot, server, submit } = scene;
  await enforce(
    server,
    policyOf('{ id: r, match: { tool: "*" }, then: ask, ask: { from: group:dba } }'),
  );
  const ana = await member("ana", { groups: ["dba"] });
  await member("ben");
  await newPerson(server, { login: "cleo", groups: ["dba"] });
  await away(ana, 0, HOUR, "ben");
  await submit();
  await untilGot("ana");
  assert.equal(got("ben"), 0);
  await away(ana, 0, HOUR, "cleo");
  await submit();
  await untilGot("ana", 2);
});

test("[ours.absence.push] nothing waits when the others cannot complete the quorum", async (t) => {
  const scene = await startAbsenceScene(t);
  const { member, away, untilGot, server, submit } = scene;
  await enforce(
    server,
    policyOf('{ id: r, match: { tool: "*" }, then: ask, ask: { from: group:dba, quorum: 2 } }'),
  );
  const ana = await member("ana", { groups: ["dba"] });
  await member("ben", { groups: ["dba"] });
  await away(ana, 0, HOUR, "ben");
  await submit();
  await Promise.all([untilGot("ana"), untilGot("ben")]);
});

test("[ours.absence.chain] an absent substitute forwards nothing: both get the push", async (t) => {
  const scene = await startAbsenceScene(t);
  const { member, away, untilGot, submit, shown } = scene;
  const [ana, ben] = [await member("ana"), await member("ben")];
  await member("cleo");
  await away(ana, 0, HOUR, "ben");
  await away(ben, 0, HOUR, "cleo");
  await submit();
  await Promise.all(["ana", "ben", "cleo"].map((login) => untilGot(login)));
  const substitutes = (await shown(ana)).map(({ substitute }) => substitute?.absent);
  assert.deepEqual(substitutes, [true, false]);
});

test("[ours.absence.everyone] when every reviewer who may decide is absent, all are notified", async (t) => {
  const scene = await startAbsenceScene(t);
  const { member, away, untilGot, submit } = scene;
  const [ana, ben] = [await member("ana"), await member("ben")];
  await away(ana, 0, HOUR);
  await away(ben, 0, HOUR);
  await submit();
  await Promise.all([untilGot("ana"), untilGot("ben")]);
});

test("[ours.absence.lost] a disabled substitute, or one with a failing browser, loses no push", async (t) => {
  let status = 201;
  const scene = await startAbsenceScene(t, (path) => (path === "/push/ben" ? status : 201));
  const { member, away, got, untilGot, server, submit, shown } = scene;
  const [ana, ben] = [await member("ana"), await member("ben")];
  await away(ana, 0, 10 * HOUR, "ben");
  await submit();
  await untilGot("ben");
  await passTime(scene, 2_000);
  assert.equal(got("ana"), 0);
  const { store } = server.provider.context;
  await store.transact((tx) => tx.run("update person set disabled_at = 1 where id = $1", [ben.id]));
  scene.clock.advance(MIN);
  await untilGot("ana");
  const [absence] = await shown(ana);
  assert.equal(absence?.absent, true);
  assert.equal(absence?.substitute, undefined);
  await store.transact((tx) =>
    tx.run("update person set disabled_at = null where id = $1", [ben.id]),
  );
  status = 500;
  await submit();
  await untilGot("ben", 2);
  scene.clock.advance(MIN);
  await untilGot("ana", 2);
});

test("[ours.absence.ended] an early end sends the waiting messages, and both are audited", async (t) => {
  const scene = await startAbsenceScene(t);
  const { member, away, got, untilGot, submit, server } = scene;
  const ana = await member("ana");
  await member("ben");
  await away(ana, 0, 2 * HOUR, "ben");
  await away(ana, 0, HOUR, "ben");
  await submit();
  await untilGot("ben");
  await passTime(scene, 2_000);
  assert.equal(got("ana"), 0);
  const end = () => callAs(server, ana, "DELETE", "/absence");
  assert.deepEqual((await end()).json, { ended: true });
  assert.deepEqual((await end()).json, { ended: false });
  await passTime(scene, 2_000);
  await untilGot("ana");
  const { store } = server.provider.context;
  const row = await store.get("select id from reviewer where name = 'ana'");
  const entries = await auditOf({ server }, `reviewer:${row?.id}`);
  const changes = entries.filter(({ kind }) => kind.startsWith("absence."));
  assert.deepEqual(
    changes.map(({ kind, actor }) => [kind, actor]),
    ["set", "changed", "ended"].map((verb) => [`absence.${verb}`, `reviewer:${row?.id}`]),
  );
  assert.match(String(changes[0]?.detail.substitute), /^reviewer:/);
});

test("[ours.absence.bounded] a period starts later, ends by itself, and is limited to 90 days", async (t) => {
  const { member, away, period, shown, server, clock } = await startAbsenceScene(t);
  const ana = await member("ana");
  await away(ana, MIN, 2 * MIN);
  assert.equal((await shown(ana))[0]?.absent, false);
  clock.advance(MIN);
  assert.equal((await shown(ana))[0]?.absent, true);
  clock.advance(MIN);
  assert.deepEqual(await shown(ana), []);
  for (const [body, param] of [
    [period(0, 90 * 24 * HOUR + 1), "until"],
    [period(-HOUR, 0), "until"],
    [{ ...period(0, HOUR), until: undefined }, "until"],
    [{ ...period(0, HOUR), from: "tomorrow" }, "from"],
    [period(0, HOUR, "nobody"), "substitute"],
    [period(0, HOUR, "ana"), "substitute"],
  ] as const) {
    const answer = await callAs<{ error: { param?: string } }>(server, ana, "PUT", "/absence", {
      body,
    });
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.error.param, param);
  }
});

test("[ours.absence.right] an absence changes no right; only people who manage reviewers set it for others", async (t) => {
  const { member, away, period, server, submit } = await startAbsenceScene(t);
  const [ana, ben] = [await member("ana"), await member("ben")];
  const boss = await member("boss", { role: "admin" });
  await away(ana, 0, HOUR, "ben");
  const id = await submit();
  const read = await callAs<ReviewedRequest & { absences?: ShownAbsence[] }>(
    server,
    ben,
    "GET",
    `/requests/${id}`,
  );
  assert.equal(read.json.absences?.[0]?.reviewer.name, "ana");
  assert.equal(read.json.absences?.[0]?.substitute?.name, "ben");
  const { may_decide } = (
    await callAs<{ may_decide: { approve: boolean } }>(server, ana, "GET", `/requests/${id}`)
  ).json;
  assert.equal(may_decide.approve, true);
  const { store } = server.provider.context;
  const row = await store.get("select id from reviewer where name = 'ana'");
  const path = `/reviewers/${row?.id}/absence`;
  const body = period(0, HOUR);
  assert.equal((await callAs(server, ben, "PUT", path, { body })).status, 403);
  assert.equal((await callAs(server, ben, "DELETE", path)).status, 403);
  assert.equal((await callAs(server, boss, "PUT", path, { body })).status, 200);
  const last = (await auditOf({ server }, `reviewer:${row?.id}`)).at(-1);
  const admin = await store.get("select id from reviewer where name = 'boss'");
  assert.deepEqual([last?.kind, last?.actor], ["absence.changed", `reviewer:${admin?.id}`]);
  assert.deepEqual((await callAs(server, boss, "DELETE", path)).json, { ended: true });
});
