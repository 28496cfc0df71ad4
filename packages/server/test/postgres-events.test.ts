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
function follow(t: TestContext, at: TestProvider): Promise<EventReader> {
  return EventReader.open(t, at, { authorization: `Bearer ${reviewer}` });
}

/** With a key that no replica has used: each counts its own. */
async function submit(at: TestProvider): Promise<ApprovalRequest> {
  const answer = await submitBody(at, token, SUBMISSION, randomUUID());
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
}

test("[ours.events.hints] a change at one replica makes a hint at the other", async (t) => {
  const reader = await follow(t, there);
  await reader.next("ready");
  const first = await submit(here);
  const rest = await Promise.all([submit(here), submit(here)]);
  for (const { id } of [first, ...rest]) await reader.next("request", id);
  await here.decide(reviewer, first.id, "approve");
  await reader.next("request", first.id);
  assert.equal((await there.read(token, first.id)).status, "approved");
  const body = { scope: "project" };
  const frozen = await here.call<{ id: string }>("POST", "/review/v1/freezes", {
    token: reviewer,
    body,
  });
  await reader.next("freezes");
  await here.call("POST", `/review/v1/freezes/${frozen.json.id}/lift`, { token: reviewer });
  await reader.next("freezes");
});

test("[ours.hold.durable] a verdict that one replica holds is applied by another, once, also after the first stops", async (t) => {
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
