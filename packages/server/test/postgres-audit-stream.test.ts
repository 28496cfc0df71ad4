/**
 * Replicas on one PostgreSQL with an audit stream: one replica sends a log at a time, and another
 * one continues after the death of the replica that was sending.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { accept, eventsOf } from "./support/audit-stream-scene.ts";
import { provision, send, startCluster } from "./support/cluster.ts";
import { type AnswerMessage, startTlsReceiver } from "./support/tls-receiver.ts";
import { trusting } from "./support/webhook-server.ts";

/** The lease of a stream, with everything before and after it. */
const PATIENCE_MS = 30_000;

test("[ours.stream.replicas] after every replica with a batch in flight was killed, another one sends all entries in order", async (t) => {
  let answer: AnswerMessage = accept;
  const collector = await startTlsReceiver(t, (received, response) => answer(received, response));
  const cluster = await startCluster(t, 2, {
    env: {
      ...trusting(temporaryFolder(t), collector),
      COUNTERSIGN_AUDIT_STREAM_URL: collector.url("/events"),
    },
  });
  const agent = await provision(cluster, await cluster.token("provisioner"));
  const submit = async (replica: number) => {
    const key = randomUUID();
    const path = "/v1/requests";
    const { status, text } = await send(
      cluster,
      replica,
      "POST",
      path,
      agent.token,
      SUBMISSION,
      key,
    );
    assert.equal(status, 201, text);
  };
  for (let i = 0; i < 10; i++) await submit(i % 2);
  await untilAllSent();
  // One at a time: without a failure, nothing is sent twice.
  assertInOrder({ isOnce: true });

  const held = collector.requests.length;
  answer = () => {};
  await submit(0);
  await eventually("a batch is in flight", () =>
    collector.requests.length > held ? true : undefined,
  );
  await Promise.all(cluster.servers.map((server) => server.kill()));
  answer = accept;
  await cluster.start(1);
  await submit(1);
  await untilAllSent();
  assertInOrder({ isOnce: false });

  async function untilAllSent(): Promise<void> {
    const isReached = async () => {
      const entries = await cluster.store.get("select count(*) as n from audit_entry");
      const sent = await cluster.store.get("select sum(position) as n from audit_stream");
      return Number(entries?.n) === Number(sent?.n) ? true : undefined;
    };
    await eventually("all entries are sent", isReached, PATIENCE_MS);
  }

  /** Each log has all its positions. A repetition starts with a position that was sent before. */
  function assertInOrder({ isOnce }: { readonly isOnce: boolean }): void {
    const next = new Map<string, number>();
    for (const { source, sequence } of collector.requests.flatMap(eventsOf)) {
      const [position, expected] = [Number(sequence), next.get(source) ?? 0];
      assert.ok(isOnce ? position === expected : position <= expected, `${source} ${position}`);
      next.set(source, Math.max(expected, position + 1));
    }
    assert.ok(next.size > 0);
  }
});
