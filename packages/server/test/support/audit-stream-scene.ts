/**
 * A provider that streams its audit entries to an HTTPS collector. The collector reads every batch
 * with the CloudEvents SDK, which others wrote.
 */

import assert from "node:assert/strict";
import { type CloudEvent, HTTP } from "cloudevents";
import { untilSealed } from "./audit-logs.ts";
import { ManualClock } from "./manual-clock.ts";
import { NO_RATES, type Scene } from "./scene.ts";
import { createSelfSigned } from "./self-signed.ts";
import { type Lifetime, startTestProvider, type TestProviderOptions } from "./test-provider.ts";
import {
  type AnswerMessage,
  type Received,
  startTlsReceiver,
  type TlsReceiver,
} from "./tls-receiver.ts";
import { turns, until } from "./until.ts";

export const STREAM_SECRET = `whsec_${"A".repeat(43)}=`;

export interface StreamScene extends Scene {
  readonly collector: TlsReceiver;
  /** The answer to the next batches; a test replaces it. */
  answer: AnswerMessage;
}

export interface StreamSceneOptions extends TestProviderOptions {
  readonly clock?: ManualClock;
}

const IDENTITY = createSelfSigned();

export const accept: AnswerMessage = (_, response) => void response.writeHead(204).end();

/** @param options without `audit_stream_url`, that of the collector is set */
export async function startStreamScene(
  t: Lifetime,
  { clock = new ManualClock(), settings, environment, ...rest }: StreamSceneOptions = {},
): Promise<StreamScene> {
  let scene: StreamScene | undefined;
  const answer: AnswerMessage = (received, response) => {
    (scene?.answer ?? accept)(received, response);
  };
  const collector = await startTlsReceiver(t, answer, { identity: IDENTITY });
  const server = await startTestProvider(t, {
    ca: [collector.certificate],
    ...rest,
    clock,
    environment: {
      COUNTERSIGN_AUDIT_STREAM_URL: collector.url("/events"),
      ...environment,
    },
    settings: { ...NO_RATES, ...settings },
  });
  scene = {
    server,
    clock,
    collector,
    instance: await server.instance(),
    reviewer: await server.token({ kind: "reviewer" }),
    answer: accept,
  };
  return scene;
}

export interface StreamedEntry {
  readonly project_id: string;
  readonly id: string;
  readonly kind: string;
  readonly actor: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** @throws when the SDK rejects the batch */
export function eventsOf({ headers, body }: Received): CloudEvent<StreamedEntry>[] {
  const message = { headers: { ...headers }, body: body.toString() };
  const events = HTTP.toEvent<StreamedEntry>(message) as CloudEvent<StreamedEntry>[];
  assert.ok(Array.isArray(events));
  for (const event of events) assert.ok(event.validate());
  return events;
}

/** Lets the workers go on until all entries are sealed and the condition holds. */
export async function untilStreamed(
  scene: Pick<Scene, "server" | "clock">,
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  await untilSealed(scene);
  await until(async () => {
    await turns();
    if (await condition()) return true;
    scene.clock.advance(500);
    return condition();
  }, what);
}

/** Entries of all logs that were not sent to this sink. */
export async function countUnsent(
  { server }: Pick<Scene, "server">,
  sink: "http" | "file",
): Promise<number> {
  const row = await server.provider.context.store.get(
    `select coalesce(sum(audit_log.size - coalesce(audit_stream.position, 0)), 0) as n
     from audit_log left join audit_stream
       on audit_stream.project_id = audit_log.project_id and audit_stream.sink = $1`,
    [sink],
  );
  return Number(row?.n);
}

/** Each log has all positions at least once, and the first copies are in order. */
export async function assertComplete(
  { server }: Pick<Scene, "server">,
  events: readonly CloudEvent<StreamedEntry>[],
): Promise<void> {
  const { store } = server.provider.context;
  const entries = await store.all("select project_id, id from audit_entry");
  const sealed = await store.all("select project_id, position, ids from audit_seal");
  for (const project of new Set(entries.map((row) => String(row.project_id)))) {
    const seals = sealed
      .filter((row) => row.project_id === project)
      .sort((a, b) => Number(a.position) - Number(b.position));
    const expected = seals.flatMap(({ ids }) => String(ids).split(" "));
    const received = events.filter(({ data }) => data?.project_id === project);
    assert.deepEqual([...new Set(received.map(({ id }) => id))], expected);
    for (const { id, sequence } of received) assert.equal(expected[Number(sequence)], id);
  }
}
