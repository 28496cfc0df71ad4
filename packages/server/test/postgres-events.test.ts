/**
 * Events and held verdicts where replicas share one PostgreSQL, with the database's clock.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { eventually } from "@countersign/testing/eventually";
import { EventReader } from "./support/event-reader.ts";
import { startReplicas } from "./support/replicas.ts";
import { auditOf, submitBody } from "./support/scene.ts";
import { SUBMISSION, startTestProvider, type TestProvider } from "./support/test-provider.ts";

const { servers, settings } = await startReplicas({ after }, 2);
const [here, there] = servers as [TestProvider, TestProvider];
const reviewer = await here.token({ kind: "reviewer" });
const { token } = await here.instance();
function follow(t: TestContext, at: TestProvider, last?: string): Promise<EventReader> {
  const resuming = last === undefined ? {} : { "last-event-id": last };
  return EventReader.open(t, at, { authorization: `Bearer ${reviewer}`, ...resuming });
}

/** With a key that no replica has used: each counts its own. */
async function submit(at: TestProvider): Promise<ApprovalRequest> {
  const answer = await submitBody(at, token, SUBMISSION, randomUUID());
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
}

test("[ours.events.told] what one replica does is told by the other", async (t) => {
  const reader = await follow(t, there);
  await reader.next("ready");
  const { id } = await submit(here);
  await reader.next("request.opened", id);
  await here.decide(reviewer, id, "approve");
  const { request } = (await reader.next("request.resolved", id)).data;
  assert.equal(request?.status, "approved");
  const body = { scope: "project" };
  const frozen = await here.call<{ id: string }>("POST", "/review/v1/freezes", {
    token: reviewer,
    body,
  });
  assert.equal((await reader.next("freezes")).data.freezes[0]?.id, frozen.json.id);
  await here.call("POST", `/review/v1/freezes/${frozen.json.id}/lift`, { token: reviewer });
  assert.deepEqual((await reader.next("freezes")).data.freezes, []);
  assert.deepEqual(reader.requests, []);
});

test("[ours.events.resumed] a reader goes on at another replica, and is told nothing twice", async (t) => {
  let [at, other] = [here, there];
  let reader = await follow(t, at);
  await reader.next("ready");
  const told: string[] = [];
  const submitted: string[] = [];
  for (let round = 0; round < 5; round++) {
    const { id } = await submit(at);
    submitted.push(id);
    await reader.next("request.opened", id);
    told.push(...reader.requests, `request.opened ${id}`);
    await reader.close();
    submitted.push((await submit(at)).id, (await submit(other)).id);
    [at, other] = [other, at];
    reader = await follow(t, at, reader.lastEventId);
    assert.equal((await reader.next("ready")).data.resumed, true);
  }
  told.push(...reader.requests);
  for (const id of submitted) {
    const event = `request.opened ${id}`;
    if (told.includes(event)) continue;
    await reader.next("request.opened", id);
    told.push(event);
  }
  assert.deepEqual([...told].sort(), submitted.map((id) => `request.opened ${id}`).sort());
});

test("[ours.hold.durable] what one replica holds another gives, once, also when the first is gone", async (t) => {
  const third = await startTestProvider(t, { settings });
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { id } = await submit(third);
    const answer = await third.decide(reviewer, id, i % 2 === 0 ? "approve" : "deny", {
      hold: "1s",
    });
    assert.equal(answer.json.status, "pending", answer.text);
    ids.push(id);
  }
  await third.stop();
  for (const [i, id] of ids.entries()) {
    const wanted = i % 2 === 0 ? "approved" : "denied";
    await eventually(`${id} is ${wanted}`, async () =>
      (await here.read(token, id)).status === wanted ? true : undefined,
    );
    const kinds = (await auditOf({ server: here }, `request:${id}`)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["request.opened", "verdict.held", "request.resolved", "verdict.cast"]);
  }
});
