/**
 * Deliveries that failed and wait, and how a reviewer sees them.
 */

import assert from "node:assert/strict";
import type { ErrorResponse } from "@countersign/protocol";
import { insertRow } from "./rows.ts";
import type { Lifetime, TestProvider } from "./test-provider.ts";
import type { AnswerMessage } from "./tls-receiver.ts";
import {
  type OutboxRow,
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  untilDelivered,
  type WebhookScene,
} from "./webhook-scene.ts";

/** As the reviewer surface answers it. */
export interface WireDelivery {
  readonly id: string;
  readonly request_id: string;
  readonly instance: { readonly id: string; readonly name: string };
  readonly status: "waiting" | "in_flight" | "ended";
  readonly destination: string | null;
  readonly attempts: number;
  readonly last_attempt?: {
    readonly at: string;
    readonly outcome: string;
    readonly http_status?: number;
  };
  readonly next_attempt_at?: string;
  readonly gives_up_at: string;
  readonly created_at: string;
  readonly ended_at?: string;
  readonly ended_by?: string;
}

export interface WireDeliveryPage {
  readonly deliveries: readonly WireDelivery[];
  readonly next: string | null;
  readonly now: string;
}

export type Reviewed = WireDelivery & WireDeliveryPage & ErrorResponse & { hurried: number };

/** A receiver that fails until the test sets another answer. */
export interface DeliveryScene extends WebhookScene {
  readonly instance: { readonly id: string; readonly token: string };
  /** How the receiver answers; 500 to begin with. */
  answer: AnswerMessage;
}

export async function startDeliveryScene(
  t: Lifetime,
  settings: Readonly<Record<string, string>> = {},
): Promise<DeliveryScene> {
  const answers: { answer: AnswerMessage } = { answer: answering(500) };
  const scene = await startWebhookScene(t, {
    settings,
    onNotification: (received, response) => answers.answer(received, response),
  });
  const instance = await provisionWithReceiver(scene);
  return Object.assign(answers, scene, { instance });
}

export function answering(status: number): AnswerMessage {
  return (_, response) => response.writeHead(status).end();
}

/** Decides a new request; its notification is written and not yet attempted. */
export async function decide({
  server,
  reviewer,
  instance,
}: Pick<DeliveryScene, "server" | "reviewer" | "instance">): Promise<OutboxRow> {
  const { id } = await server.submit(instance.token);
  const { status, text } = await server.decide(reviewer, id, "deny");
  assert.equal(status, 200, text);
  return rowOf(server, id);
}

/** The same, and waits until the first attempt is recorded. */
export async function decideAndAttempt(scene: DeliveryScene): Promise<OutboxRow> {
  const { id } = await decide(scene);
  await untilDelivered(
    scene,
    async () => {
      const { attempts } = await rowOf(scene.server, id);
      return attempts === 1;
    },
    "the first attempt",
  );
  return rowOf(scene.server, id);
}

/** @param id of the notification or its request */
export async function rowOf(server: TestProvider, id: string): Promise<OutboxRow> {
  const rows = await outbox({ server });
  const row = rows.find((row) => row.id === id || row.request_id === id);
  assert.ok(row, "no notification was written");
  return row;
}

/** Copies a notification and its request, and says what is different; the rest is the same. */
export async function copyDeliveries(
  server: TestProvider,
  original: OutboxRow,
  copies: readonly Partial<OutboxRow>[],
): Promise<string[]> {
  const { store, random } = server.provider.context;
  return store.transact(async (tx) => {
    const request = await tx.get("select * from request where id = $1", [original.request_id]);
    const notification = await tx.get("select * from notification where id = $1", [original.id]);
    const ids: string[] = [];
    for (const changes of copies) {
      const [id, request_id] = [random.uuid(), random.uuid()];
      await insertRow(tx, "request", { ...request, id: request_id, key_hash: request_id });
      await insertRow(tx, "notification", { ...notification, id, request_id, ...changes });
      ids.push(id);
    }
    return ids;
  });
}
