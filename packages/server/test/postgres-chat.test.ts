/**
 * Replicas on one PostgreSQL with Socket Mode: one of them owns the connection, another one takes
 * it over, and an event that arrives at two replicas decides once.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { writeLink } from "../src/storage/sql/chat/chat-links.ts";
import { provision, send, startCluster } from "./support/cluster.ts";
import {
  APP_TOKEN,
  BOT_TOKEN,
  OPS,
  pressPayload,
  SIGNING_SECRET,
  sendEnvelope,
  signPayload,
  startFakeSlack,
  TEAM,
} from "./support/fake-slack.ts";
import { trusting } from "./support/webhook-server.ts";

/** The lease of a connection, with everything before and after it. */
const PATIENCE_MS = 40_000;

const ANA = { id: "U0ANA00001" };

const SECRETS = { token: BOT_TOKEN, app_token: APP_TOKEN, signing_secret: SIGNING_SECRET };

async function startChatCluster(t: TestContext) {
  const slack = await startFakeSlack(t);
  const cluster = await startCluster(t, 2, {
    args: ["--webhook-allow-cidrs", "127.0.0.0/8", "--slack-api-url", slack.apiUrl],
    env: trusting(temporaryFolder(t), slack.receiver),
  });
  const admin = await cluster.token("reviewer", "admin");
  const body = {
    name: "ops",
    kind: "slack_app",
    slack_channel: OPS,
    include_arguments: true,
    decide: true,
    ...SECRETS,
  };
  const made = await send<{ readonly events_url: string }>(
    cluster,
    0,
    "POST",
    "/review/v1/channels",
    admin,
    body,
  );
  assert.equal(made.status, 201, made.text);
  const reviewer = await cluster.store.get("select id, project_id from reviewer limit 1");
  await cluster.store.transact((tx) =>
    writeLink(tx, {
      projectId: String(reviewer?.project_id),
      id: randomUUID(),
      platform: "slack_app",
      user: { teamId: TEAM, userId: ANA.id, name: "ana" },
      reviewerId: String(reviewer?.id),
      linkedAt: 0,
    }),
  );
  const agent = await provision(cluster, await cluster.token("provisioner"));
  const isOpen = () => slack.sockets.filter(({ socket }) => socket.readyState === socket.OPEN);
  return {
    slack,
    cluster,
    eventsPath: new URL(made.json.events_url).pathname,
    /** The only open connection. */
    async connection() {
      return eventually(
        "one connection",
        () => (isOpen().length === 1 ? isOpen()[0] : undefined),
        PATIENCE_MS,
      );
    },
    async ask() {
      const before = slack.messages.length;
      const answer = await send<{ readonly id: string }>(
        cluster,
        0,
        "POST",
        "/v1/requests",
        agent.token,
        SUBMISSION,
        randomUUID(),
      );
      const count = async () => {
        const row = await cluster.store.get("select count(*) as n from channel_post");
        return Number(row?.n) > before ? true : undefined;
      };
      await eventually("the message", count, PATIENCE_MS);
      return { id: answer.json.id, message: slack.messages[before] ?? assert.fail() };
    },
    async untilApproved(id: string): Promise<void> {
      const isApproved = async () => {
        const sql = "select status from request where id = $1";
        return (await cluster.store.get(sql, [id]))?.status === "approved" ? true : undefined;
      };
      await eventually(`${id} is approved`, isApproved, PATIENCE_MS);
    },
    async resolutions(id: string): Promise<number> {
      const sql = `select count(*) as n from audit_entry
        where kind = 'request.resolved' and subject = $1`;
      return Number((await cluster.store.get(sql, [`request:${id}`]))?.n);
    },
  };
}

test("[ours.chat.socket] one of two replicas owns the connection, and the other one takes it over", async (t) => {
  const { slack, cluster, connection, ask, untilApproved } = await startChatCluster(t);
  const first = await connection();
  const one = await ask();
  sendEnvelope(first, "e1", pressPayload(one.message, "approve", ANA));
  await untilApproved(one.id);
  await cluster.servers[0]?.kill();
  const isOwner = first.socket.readyState !== first.socket.OPEN;
  if (!isOwner) {
    await cluster.start(0);
    await cluster.servers[1]?.kill();
  }
  const closed = () => (first.socket.readyState === first.socket.CLOSED ? true : undefined);
  await eventually("the connection of the killed replica closes", closed, PATIENCE_MS);
  const second = await connection();
  assert.notEqual(second, first);
  const two = await ask();
  sendEnvelope(second, "e2", pressPayload(two.message, "approve", ANA));
  await untilApproved(two.id);
  assert.equal(slack.messages.length, 2);
});

test("[ours.chat.replayed] an event that arrives at two replicas decides once", async (t) => {
  const { cluster, ask, eventsPath, untilApproved, resolutions } = await startChatCluster(t);
  const { id, message } = await ask();
  const { body, headers } = signPayload(pressPayload(message, "approve", ANA), Date.now());
  const answers = await Promise.all(
    [0, 1, 0, 1].map((replica) => {
      const url = `${cluster.servers[replica]?.url}${eventsPath}`;
      return fetch(url, { method: "POST", body, headers });
    }),
  );
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  await untilApproved(id);
  assert.equal(await resolutions(id), 1);
  const sql = "select count(*) as n from audit_entry where kind = 'chat.refused'";
  const refused = Number((await cluster.store.get(sql))?.n);
  assert.ok(refused <= 3, "the others are replays, or came after the decision");
});
