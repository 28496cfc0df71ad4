/** Approvals that are consumed at several replicas at one time. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import {
  ALL_EXTENSIONS,
  codeOf,
  consumeCall,
  consumed,
  consumeOnAgentSurface,
  reportCall,
} from "./support/extensions.ts";
import { startReplicas } from "./support/replicas.ts";
import { submitBody } from "./support/scene.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";

const REPLICAS = 3;

async function approved(server: TestProvider, token: string, reviewer: string) {
  const { json } = await submitBody(server, token, SUBMISSION, randomUUID());
  await server.decide(reviewer, json.id, "approve");
  return json;
}

test("[ours.extensions.consume.once] of twenty concurrent consumptions at three replicas one succeeds, and its key gets the same answer from all", async (t) => {
  const options = { settings: { extensions: ALL_EXTENSIONS } };
  const { servers } = await startReplicas(t, REPLICAS, undefined, options);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const instance = await at(0).instance();
  const reviewer = await at(0).token({ kind: "reviewer" });
  for (let round = 0; round < 4; round++) {
    const { id } = await approved(at(round), instance.token, reviewer);
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const answers = await Promise.all(
      keys.map((key, i) => consumeCall({ server: at(i), instance }, id, key)),
    );
    const [won, ...more] = keys.filter((_, i) => answers[i]?.status === 200);
    assert.ok(won);
    assert.deepEqual(more, []);
    const refused = answers.filter((answer) => codeOf(answer) === "already_consumed");
    assert.equal(refused.length, keys.length - 1);
    const again = await Promise.all(
      servers.map((server) => consumeCall({ server, instance }, id, won)),
    );
    assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(again.map(({ text }) => text)).size, 1);
    assert.equal((await consumed({ server: at(0) }, id)).length, 1);
    const reports = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        reportCall({ server: at(i), instance }, id, { status: i < 6 ? "succeeded" : "failed" }),
      ),
    );
    assert.equal(reports.filter(({ status }) => status === 200).length, 6);
  }
});

test("[ours.agent.consume] concurrent keys at three replicas on both routes: exactly one returns 200", async (t) => {
  const options = { settings: { extensions: "consume" } };
  const { servers } = await startReplicas(t, REPLICAS, undefined, options);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const instance = await at(0).instance();
  const reviewer = await at(0).token({ kind: "reviewer" });
  for (let round = 0; round < 4; round++) {
    const { id } = await approved(at(round), instance.token, reviewer);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const send = i % 2 === 0 ? consumeOnAgentSurface : consumeCall;
        return send({ server: at(i), instance }, id, randomUUID());
      }),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    const refused = answers.filter((answer) => codeOf(answer) === "already_consumed");
    assert.equal(refused.length, 19);
    assert.equal((await consumed({ server: at(0) }, id)).length, 1);
  }
});

test("[ours.extensions.consume.deleted] when three replicas consume while the instance is deleted, nothing is consumed after the answer", async (t) => {
  const options = { settings: { extensions: ALL_EXTENSIONS } };
  const { servers } = await startReplicas(t, REPLICAS, undefined, options);
  const at = (i: number) => servers[i % REPLICAS] as TestProvider;
  const reviewer = await at(0).token({ kind: "reviewer" });
  for (let round = 0; round < 4; round++) {
    const instance = await at(0).instance();
    const { id } = await approved(at(round), instance.token, reviewer);
    const consuming = Array.from({ length: 9 }, (_, i) =>
      consumeCall({ server: at(i), instance }, id, randomUUID()),
    );
    const { status } = await at(round).call("DELETE", `/v1/instances/${instance.id}`, {
      token: instance.provisioner,
    });
    assert.equal(status, 204);
    const count = (await consumed({ server: at(round) }, id)).length;
    const answers = await Promise.all(consuming);
    assert.equal((await consumed({ server: at(round) }, id)).length, count);
    assert.equal(answers.filter((answer) => answer.status === 200).length, count);
    for (const answer of answers) assert.ok([200, 401, 409].includes(answer.status), answer.text);
  }
});
