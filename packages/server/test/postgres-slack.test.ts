/**
 * Replicas on one PostgreSQL with a Slack app: each message is updated once, and an update survives
 * the death of the replica that was sending it.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { provision, send, startCluster } from "./support/cluster.ts";
import { BOT_TOKEN, OPS, startFakeSlack } from "./support/fake-slack.ts";
import { trusting } from "./support/webhook-server.ts";

/** The lease of a channel, with everything before and after it. */
const PATIENCE_MS = 30_000;

async function startSlackCluster(t: TestContext) {
  const slack = await startFakeSlack(t);
  const cluster = await startCluster(t, 2, {
    args: ["--webhook-allow-cidrs", "127.0.0.0/8", "--slack-api-url", slack.apiUrl],
    env: trusting(temporaryFolder(t), slack.receiver),
  });
  const admin = await cluster.token("reviewer", "admin");
  const body = { name: "ops", kind: "slack_app", token: BOT_TOKEN, slack_channel: OPS };
  const made = await send(cluster, 0, "POST", "/review/v1/channels", admin, body);
  assert.equal(made.status, 201, made.text);
  const agent = await provision(cluster, await cluster.token("provisioner"));
  return {
    slack,
    cluster,
    /** @returns the id of a request that this replica accepted */
    async ask(replica: number): Promise<string> {
      const path = "/v1/requests";
      const key = randomUUID();
      const answer = await send(cluster, replica, "POST", path, agent.token, SUBMISSION, key);
      assert.equal(answer.status, 201, answer.text);
      return (JSON.parse(answer.text) as { id: string }).id;
    },
    async deny(replica: number, id: string): Promise<void> {
      const path = `/review/v1/requests/${id}`;
      const shown = await send(cluster, replica, "GET", path, admin);
      const { arguments_sha256 } = JSON.parse(shown.text) as { arguments_sha256: string };
      const verdict = { verdict: "deny", arguments_sha256 };
      const answer = await send(cluster, replica, "POST", `${path}/verdict`, admin, verdict);
      assert.equal(answer.status, 200, answer.text);
    },
    async untilPosted(count: number): Promise<void> {
      await untilRows("select count(*) as n from channel_post", count);
    },
    async untilUpdated(count: number): Promise<void> {
      await untilRows("select count(*) as n from channel_post where closed_by = 'updated'", count);
    },
  };

  async function untilRows(sql: string, count: number): Promise<void> {
    const isReached = async () =>
      Number((await cluster.store.get(sql))?.n) === count ? true : undefined;
    await eventually(`${count} messages`, isReached, PATIENCE_MS);
  }
}

test("[ours.slack.replicas] two replicas post and update each message once", async (t) => {
  const { slack, ask, deny, untilPosted, untilUpdated } = await startSlackCluster(t);
  const ids = await Promise.all(Array.from({ length: 6 }, (_, i) => ask(i % 2)));
  await untilPosted(6);
  await Promise.all(ids.map((id, i) => deny(i % 2, id)));
  await untilUpdated(6);
  assert.deepEqual(
    slack.messages.map(({ edits }) => edits),
    Array(6).fill(1),
  );
});

test("[ours.slack.replicas] an update that was in flight when every replica was killed is sent after a start", async (t) => {
  const { slack, cluster, ask, deny, untilPosted, untilUpdated } = await startSlackCluster(t);
  const id = await ask(0);
  await untilPosted(1);
  slack.fault = (method) => (method === "chat.update" ? { isHeld: true } : undefined);
  await deny(0, id);
  const isSending = () => (slack.calls.includes("chat.update") ? true : undefined);
  await eventually("the update is in flight", isSending, PATIENCE_MS);
  await Promise.all(cluster.servers.map((server) => server?.kill()));
  slack.fault = () => undefined;
  await cluster.start(0);
  await untilUpdated(1);
  assert.equal(slack.messages[0]?.edits, 1);
  assert.match(slack.messages[0]?.text ?? "", /^Denied by /);
});
