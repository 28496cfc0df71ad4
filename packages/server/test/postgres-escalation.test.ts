/**
 * Escalation where replicas share one PostgreSQL, with the database's clock.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { eventually } from "@countersign/testing/eventually";
import { EventReader } from "./support/event-reader.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { startReplicas } from "./support/replicas.ts";
import { auditOf, submitBody } from "./support/scene.ts";
import { SUBMISSION, startTestProvider, type TestProvider } from "./support/test-provider.ts";

const { servers, settings } = await startReplicas({ after }, 3);
const [here, there] = servers as [TestProvider, TestProvider, TestProvider];
const { token } = await here.instance();
const RULE = `{ id: deploys, match: { tool: deploy }, then: ask,
      ask: { from: group:dev, escalate: [{ after: 1s, to: group:leads }] } }`;
await enforce(here, policyOf(RULE));
const lead = await here.token({ kind: "reviewer", name: "lea", groups: ["leads"] });

test("[ours.escalate.durable] three replicas apply each step once, also of requests of a replica that stopped", async (t) => {
  const reader = await EventReader.open(t, there, { authorization: `Bearer ${lead}` });
  await reader.next("ready");
  const stopped = await startTestProvider(t, { settings });
  const ids: string[] = [];
  for (let i = 0; i < 8; i++) {
    const answer = await submitBody(stopped, token, SUBMISSION, randomUUID());
    assert.equal(answer.status, 201, answer.text);
    ids.push(answer.json.id);
  }
  await stopped.stop();
  for (const id of ids) {
    const entries = await eventually(`${id} is escalated`, async () => {
      const found = await auditOf({ server: here }, `request:${id}`);
      return found.length > 1 ? found : undefined;
    });
    assert.deepEqual(
      entries.map(({ kind }) => kind),
      ["request.opened", "request.escalated"],
    );
    await reader.next("request", id);
  }
  const decided = await Promise.all(
    ids.map((id, i) => (i % 2 === 0 ? here : there).decide(lead, id, "approve")),
  );
  assert.deepEqual(new Set(decided.map(({ json }) => json.status)), new Set(["approved"]));
  for (const id of ids) {
    const kinds = (await auditOf({ server: here }, `request:${id}`)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["request.opened", "request.escalated", "request.resolved"]);
  }
});
