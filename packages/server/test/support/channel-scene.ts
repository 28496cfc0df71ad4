/**
 * A provider with people who are notified through channels, and a receiver over TLS that plays
 * every service that channels lead to.
 */

import assert from "node:assert/strict";
import type { ErrorResponse } from "@countersign/protocol";
import { insertAnnouncements } from "../../src/storage/sql/channels/announcements.ts";
import { authenticateRow } from "../../src/storage/sql/requests/request-rows.ts";
import type { Row } from "../../src/storage/store.ts";
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

export interface Channel {
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly state: string;
  readonly failures: number;
  readonly signing_secret?: string;
  readonly events_url?: string;
  readonly last?: { readonly at: string; readonly outcome: string; readonly status?: number };
}

export interface ChannelScene extends Scene {
  readonly receiver: TlsReceiver;
  readonly admin: string;
  /** Messages that arrived at this path so far. */
  at(path: string): readonly Received[];
}

export interface ChannelSceneOptions extends TestProviderOptions {
  readonly clock?: ManualClock;
  readonly answer?: AnswerMessage;
}

const IDENTITY = createSelfSigned();

export async function startChannelScene(
  t: Lifetime,
  { clock = new ManualClock(), answer, settings, ...rest }: ChannelSceneOptions = {},
): Promise<ChannelScene> {
  const receiver = await startTlsReceiver(t, answer, { identity: IDENTITY });
  const server = await startTestProvider(t, {
    ca: [receiver.certificate],
    ...rest,
    clock,
    settings: {
      ...NO_RATES,
      webhook_allow_cidrs: "127.0.0.0/8",
      public_url: "https://countersign.example",
      ...settings,
    },
  });
  return {
    server,
    clock,
    receiver,
    instance: await server.instance(),
    reviewer: await server.token({ kind: "reviewer" }),
    admin: await server.token({ kind: "reviewer", name: "admin", role: "admin" }),
    at: (path) => receiver.requests.filter((received) => received.path === path),
  };
}

export function tryChannel(
  { server, admin }: Pick<ChannelScene, "server" | "admin">,
  body: object,
) {
  return server.call<Channel & ErrorResponse>("POST", "/review/v1/channels", {
    token: admin,
    body,
  });
}

/** A channel to the receiver's path `/NAME`, of kind slack if nothing else is said. */
export async function newChannel(
  scene: Pick<ChannelScene, "server" | "admin" | "receiver">,
  name: string,
  fields: object = {},
): Promise<Channel> {
  const body = { name, kind: "slack", url: scene.receiver.url(`/${name}`), ...fields };
  const { status, text, json } = await tryChannel(scene, body);
  assert.equal(status, 201, text);
  return json;
}

export async function channelOf(
  { server, admin }: Pick<ChannelScene, "server" | "admin">,
  id: string,
): Promise<Channel> {
  const { json } = await server.call<{ readonly channels: readonly Channel[] }>(
    "GET",
    "/review/v1/channels",
    { token: admin },
  );
  const channel = json.channels.find((each) => each.id === id);
  assert.ok(channel, "the channel is listed");
  return channel;
}

/** Lets the worker do what is due, at the clock's time, until the condition holds. */
export async function untilNotified(
  { clock }: Pick<ChannelScene, "clock">,
  condition: () => boolean | Promise<boolean>,
  what: string,
): Promise<void> {
  await until(async () => {
    clock.advance(0);
    return condition();
  }, what);
}

/** Lets time pass in steps of a second, with turns for the worker in between. */
export async function passTime({ clock }: Pick<ChannelScene, "clock">, ms: number): Promise<void> {
  await turns();
  for (let left = ms; left > 0; left -= 1_000) {
    clock.advance(Math.min(1_000, left));
    await turns(8);
  }
  await turns();
}

export interface AnnouncementRow {
  readonly request_id: string;
  readonly channel_id: string;
  readonly occasion: string;
  readonly next_at: number | null;
  readonly ended_by: string | null;
}

export async function announcements({ server }: Pick<Scene, "server">): Promise<AnnouncementRow[]> {
  const sql = "select * from announcement order by created_at, id";
  const rows = await server.provider.context.store.all(sql);
  return rows as unknown as AnnouncementRow[];
}

/**
 * More pending requests like this one, each announced and due at once; the last one ends first,
 * 150 s from now.
 */
export async function copyAnnouncements(
  { server, clock }: Pick<Scene, "server" | "clock">,
  like: { readonly requestId: string; readonly channelId: string; readonly count: number },
): Promise<void> {
  const { store, random } = server.provider.context;
  const row = await store.get("select * from request where id = $1", [like.requestId]);
  assert.ok(row);
  const now = clock.now();
  await store.transact(async (tx) => {
    for (let left = like.count; left > 0; left--) {
      const id = random.uuid();
      const copy: Row = { ...row, id, key_hash: id, deadline_at: now + (left + 149) * 1_000 };
      const values = Object.values({ ...copy, ...authenticateRow(store.integrity, copy) });
      const places = values.map((_, i) => `$${i + 1}`).join(", ");
      const columns = Object.keys(copy).join(", ");
      await tx.run(`insert into request (${columns}) values (${places})`, values);
      const projectId = String(row.project_id);
      await insertAnnouncements(tx, [
        {
          id: random.uuid(),
          projectId,
          requestId: id,
          channelId: like.channelId,
          occasion: "opened",
          createdAt: now,
          deadlineAt: Number(copy.deadline_at),
          nextAt: now,
        },
      ]);
    }
  });
}

/** Lets the worker work until nothing of what was announced is left to send. */
export async function untilEnded(scene: ChannelScene): Promise<AnnouncementRow[]> {
  const isOver = async () => (await announcements(scene)).every((row) => row.next_at === null);
  await untilNotified(scene, isOver, "every announcement has ended");
  return announcements(scene);
}

export function textOf({ body }: Received): string {
  return (JSON.parse(body.toString()) as { readonly text: string }).text;
}
