/**
 * The stream of audit entries to a collector: completeness, order, signatures, failures of the
 * collector, and the OCSF format. The collector reads the batches with the CloudEvents SDK.
 */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { parseSigningSecret, signWebhook } from "@countersign/protocol";
import { appendAudit } from "../src/audit/append-audit.ts";
import { MESSAGE_LEASE } from "../src/core/lease.ts";
import type { AuditSink } from "../src/delivery/audit-sink.ts";
import { Report } from "../src/index.ts";
import { claimStream } from "../src/operations/audit/claimStream.ts";
import { recordStreamed } from "../src/operations/audit/recordStreamed.ts";
import { AuditDestination } from "../src/outbox/audit-destination.ts";
import { isStreamClaimed } from "../src/storage/sql/audit/audit-streams.ts";
import type { Row } from "../src/storage/store.ts";
import { logOf, projectId, tamper, untilSealed } from "./support/audit-logs.ts";
import {
  accept,
  assertComplete,
  countUnsent,
  eventsOf,
  STREAM_SECRET,
  type StreamScene,
  startStreamScene,
  untilStreamed,
} from "./support/audit-stream-scene.ts";
import { end, restart, startScene } from "./support/scene.ts";
import { turns, until } from "./support/until.ts";
import { validateOcsf } from "./support/validate-ocsf.ts";

async function untilAllSent(scene: StreamScene): Promise<void> {
  await untilStreamed(scene, async () => (await countUnsent(scene, "http")) === 0, "all are sent");
}

function entriesOf({ collector }: StreamScene) {
  return collector.requests.flatMap(eventsOf);
}

test("[ours.stream.complete] the collector receives every entry of every log once, in the order of the log", async (t) => {
  const scene = await startStreamScene(t);
  const { server, instance } = scene;
  for (const status of ["approved", "denied", "cancelled"] as const) {
    await end(scene, await server.submit(instance.token), status);
  }
  await untilAllSent(scene);
  const events = entriesOf(scene);
  await assertComplete(scene, events);
  const stored = await server.provider.context.store.get("select count(*) as n from audit_entry");
  assert.equal(events.length, Number(stored?.n));
  assert.ok(events.some(({ type }) => type === "countersign.audit.request.resolved"));
});

test("[ours.stream.complete] an entry that is committed long after its time is sent", async (t) => {
  const scene = await startStreamScene(t);
  const { store, random } = scene.server.provider.context;
  await untilAllSent(scene);
  const project = await projectId(store);
  await store.transact((tx) =>
    appendAudit(tx, random, {
      at: scene.clock.now() - 60_000,
      projectId: project,
      kind: "freeze.lifted",
      actor: "operator:cli",
      subject: "freeze:late",
    }),
  );
  await until(async () => {
    scene.clock.advance(5_000);
    await turns();
    return entriesOf(scene).some(({ subject }) => subject === "freeze:late");
  }, "the late entry is sent");
  await assertComplete(scene, entriesOf(scene));
});

test("[ours.stream.complete] a backlog is sent in batches of at most 100 entries of one log", async (t) => {
  const scene = await startStreamScene(t);
  scene.answer = (_, response) => void response.writeHead(503).end();
  for (let i = 0; i < 130; i++) await scene.server.submit(scene.instance.token);
  await untilStreamed(scene, () => scene.collector.requests.length > 0, "a batch arrived");
  const failed = scene.collector.requests.length;
  scene.answer = accept;
  await untilAllSent(scene);
  const batches = scene.collector.requests.slice(failed).map(eventsOf);
  assert.equal(Math.max(...batches.map(({ length }) => length)), 100);
  for (const batch of batches) assert.equal(new Set(batch.map(({ source }) => source)).size, 1);
  await assertComplete(scene, batches.flat());
});

test("[ours.stream.complete] after a restart, the server continues with the first entry that was not sent", async (t) => {
  const scene = await startStreamScene(t);
  await untilAllSent(scene);
  const before = entriesOf(scene).length;
  const again = await restart(t, scene);
  const request = await again.server.submit(scene.instance.token);
  await again.server.stop();
  const { certificate } = scene.collector;
  const url = { COUNTERSIGN_AUDIT_STREAM_URL: scene.collector.url("/events") };
  const restarted = await restart(t, again, {}, { ca: [certificate], environment: url });
  await untilAllSent({ ...scene, ...restarted });
  const more = entriesOf(scene).slice(before);
  assert.ok(more.some(({ subject }) => subject === `request:${request.id}`));
  await assertComplete(restarted, entriesOf(scene));
  const ids = entriesOf(scene).map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
});

test("[ours.stream.signed] a batch has the signature of a webhook and the header Authorization", async (t) => {
  const scene = await startStreamScene(t, {
    environment: {
      COUNTERSIGN_AUDIT_STREAM_SECRET: STREAM_SECRET,
      COUNTERSIGN_AUDIT_STREAM_AUTHORIZATION: "Splunk 1-2-3",
    },
  });
  await untilAllSent(scene);
  const { headers, body, path } = await scene.collector.next();
  assert.equal(path, "/events");
  assert.equal(headers.authorization, "Splunk 1-2-3");
  assert.match(headers["content-type"] ?? "", /^application\/cloudevents-batch\+json/);
  const key = parseSigningSecret(STREAM_SECRET);
  assert.ok(key);
  const [id, timestamp] = [String(headers["webhook-id"]), Number(headers["webhook-timestamp"])];
  assert.equal(headers["webhook-signature"], await signWebhook(key, id, timestamp, body));
});

test("[ours.stream.signed] two batches with different entries have different ids", async (t) => {
  const scene = await startStreamScene(t, {
    environment: { COUNTERSIGN_AUDIT_STREAM_SECRET: STREAM_SECRET },
  });
  scene.answer = (_, response) => void response.writeHead(500).end();
  await untilStreamed(scene, () => scene.collector.requests.length > 0, "a batch arrived");
  await scene.server.submit(scene.instance.token);
  scene.answer = accept;
  await untilAllSent(scene);
  const ids = new Map<string, string>();
  for (const { headers, body } of scene.collector.requests) {
    const id = String(headers["webhook-id"]);
    assert.equal(ids.get(id) ?? body.toString(), body.toString());
    ids.set(id, body.toString());
  }
  assert.ok(ids.size > 1);
});

test("[ours.stream.retries] the server sends a batch again until the collector accepts it, and logs one failure and one recovery", async (t) => {
  const lines: string[] = [];
  const report = new Report("info", { write: (line: string) => void lines.push(line) });
  const scene = await startStreamScene(t, { report });
  const failures = [
    (response: ServerResponse) => response.writeHead(500).end(),
    (response: ServerResponse) => response.writeHead(302, { location: "/other" }).end(),
    (response: ServerResponse) => response.socket?.destroy(),
  ];
  let failed = 0;
  scene.answer = (_, response) => void failures[failed++ % failures.length]?.(response);
  await untilStreamed(scene, () => failed > 6, "six attempts failed");
  assert.ok((await countUnsent(scene, "http")) > 0);
  scene.answer = accept;
  await untilAllSent(scene);
  await assertComplete(scene, entriesOf(scene));
  const events = lines
    .map((line) => JSON.parse(line))
    .filter(({ event }) => /^audit_s/.test(event));
  assert.deepEqual(
    events.map(({ event, sink }) => [event, sink]),
    [
      ["audit_stream.failed", "http"],
      ["audit_stream.recovered", "http"],
    ],
  );
  const { text: metrics } = await report.metrics();
  assert.match(metrics, /^countersign_audit_stream_batches_total\{.*outcome="rejected"\} [1-9]/m);
  assert.match(metrics, /^countersign_audit_stream_lag_seconds\{sink="http"\} 0$/m);
});

test("[ours.stream.retries] a collector that sets Retry-After gets no batch before that time", async (t) => {
  const scene = await startStreamScene(t);
  scene.answer = (_, response) => void response.writeHead(503, { "retry-after": "1800" }).end();
  const { store } = scene.server.provider.context;
  const isEachSent = async () => {
    const logs = await store.get("select count(*) as n from audit_log where size > 0");
    const failed = await store.get("select count(*) as n from audit_stream where failures = 1");
    return Number(logs?.n) === Number(failed?.n);
  };
  await untilStreamed(scene, isEachSent, "each log was sent once");
  await turns();
  const sent = scene.collector.requests.length;
  for (let second = 0; second < 1_700; second += 10) scene.clock.advance(10_000);
  await turns();
  assert.equal(scene.collector.requests.length, sent);
});

test("[ours.stream.back-pressure] a collector that never answers stops no decision, and the metric shows the lag", async (t) => {
  const report = new Report("silent", { write: () => {} });
  const scene = await startStreamScene(t, { report });
  const { server, instance } = scene;
  scene.answer = () => {};
  await untilStreamed(scene, () => scene.collector.requests.length > 0, "a batch arrived");
  for (let i = 0; i < 5; i++) await end(scene, await server.submit(instance.token), "approved");
  const lag = /^countersign_audit_stream_lag_seconds\{sink="http"\} (\S+)$/m;
  scene.clock.advance(300_000);
  assert.ok(Number(lag.exec((await report.metrics()).text)?.[1]) >= 300);
  scene.answer = accept;
  scene.collector.server.closeAllConnections();
  await untilAllSent(scene);
  await assertComplete(scene, entriesOf(scene));
});

test("[ours.stream.sealed] an entry that was altered after sealing is left out, and the others are sent", async (t) => {
  const scene = await startStreamScene(t);
  scene.answer = (_, response) => void response.writeHead(500).end();
  const request = await scene.server.submit(scene.instance.token);
  await untilStreamed(scene, () => scene.collector.requests.length > 0, "a batch arrived");
  const sql = "update audit_entry set actor = 'instance:other' where subject = $1";
  await tamper(scene, sql, `request:${request.id}`);
  const sent = scene.collector.requests.length;
  scene.answer = accept;
  await untilAllSent(scene);
  const { projectId: project, size } = await logOf(scene);
  const events = scene.collector.requests.slice(sent).flatMap(eventsOf);
  const positions = events.filter(({ data }) => data?.project_id === project);
  assert.equal(positions.length, size - 1);
  assert.ok(events.every(({ subject }) => subject !== `request:${request.id}`));
});

test("[ours.stream.replicas] a replica that was paused beyond its lease sends nothing, and its result is ignored", async (t) => {
  const scene = await startScene(t);
  await untilSealed(scene);
  const { context } = scene.server.provider;
  const key = { projectId: await projectId(context.store), sink: "http" } as const;
  const paused = await claimStream(context, key);
  assert.ok(paused);
  assert.equal(await claimStream(context, key), undefined);
  scene.clock.advance(MESSAGE_LEASE.ms);
  const current = await claimStream(context, key);
  assert.ok(current);
  const isCurrent = ({ fence }: { readonly fence: number }) =>
    isStreamClaimed(context.store, key, fence, scene.clock.now());
  assert.deepEqual([await isCurrent(paused), await isCurrent(current)], [false, true]);
  const sent = { kind: "sent", status: 204 } as const;
  assert.equal((await recordStreamed(context, paused, sent, 1)).kind, "stale");
  assert.equal((await recordStreamed(context, current, sent, 2)).kind, "sent");
  assert.equal((await recordStreamed(context, current, sent, 3)).kind, "stale");
  assert.equal((await claimStream(context, key))?.position, 2);
});

test("[ours.stream.back-pressure] more active logs than one scan reads: the next scans reach every log", async (t) => {
  const scene = await startScene(t);
  const { context } = scene.server.provider;
  await untilSealed(scene);
  const log = await context.store.get("select * from audit_log where size > 0 limit 1");
  const columns = Object.keys(log ?? {});
  const slots = columns.map((_, index) => `$${index + 1}`);
  await context.store.transact(async (tx) => {
    for (let n = 0; n < 1_200; n++) {
      const row: Row = { ...log, project_id: `active-${n}` };
      await tx.run(
        `insert into audit_log (${columns.join(", ")}) values (${slots.join(", ")})`,
        columns.map((column) => row[column] ?? null),
      );
    }
  });
  const sink: AuditSink = { kind: "http", send: () => assert.fail("no batch"), close() {} };
  const destination = new AuditDestination(context, new Report("silent"), sink);
  for (let scan = 0; scan < 4; scan++) await destination.scan();
  const logs = await context.store.get("select count(*) as n from audit_log where size > 0");
  assert.equal(destination.queue.size, Number(logs?.n));
});

test("[ours.stream.ocsf] with the format ocsf, every entry is a valid event of the published schema", async (t) => {
  const scene = await startStreamScene(t, { settings: { audit_stream_format: "ocsf" } });
  for (const status of ["approved", "denied", "expired", "cancelled"] as const) {
    await end(scene, await scene.server.submit(scene.instance.token), status);
  }
  await untilAllSent(scene);
  const events = scene.collector.requests.flatMap(({ headers, body }) => {
    assert.equal(headers["content-type"], "application/json");
    return JSON.parse(body.toString()) as object[];
  });
  assert.ok(events.length > 10);
  for (const event of events) assert.deepEqual(validateOcsf(event), []);
});

test("[ours.stream.off] the server streams with webhooks_off, and without the settings it streams nothing", async (t) => {
  const scene = await startStreamScene(t, { settings: { webhooks_off: "true" } });
  await untilAllSent(scene);
  assert.ok(scene.collector.requests.length > 0);
  const sent = scene.collector.requests.length;
  const without = await restart(t, scene);
  await without.server.submit(scene.instance.token);
  await untilStreamed(without, async () => (await countUnsent(without, "http")) > 0, "sealed");
  assert.equal(scene.collector.requests.length, sent);
});
