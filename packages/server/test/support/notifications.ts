/**
 * Notifications on their way to a receiver: what tests about delivery do with a webhook scene.
 */

import assert from "node:assert/strict";
import {
  type ApprovalRequest,
  parseWebhookUrl,
  type RequestResolvedEvent,
  type WebhookDeliveryInput,
} from "@countersign/protocol";
import { installReceiver } from "../../src/steps/deliveries/installReceiver.ts";
import { insertInstance } from "../../src/storage/sql/instances/instances.ts";
import type { SqlValue } from "../../src/storage/store.ts";
import { copyDeliveries } from "./deliveries.ts";
import { withDatabase } from "./engine.ts";
import { ManualClock } from "./manual-clock.ts";
import { type Lifetime, startTestProvider } from "./test-provider.ts";
import type { AnswerMessage } from "./tls-receiver.ts";
import { turns } from "./until.ts";
import {
  type OutboxRow,
  outbox,
  SIGNING_SECRET,
  untilDelivered,
  type WebhookScene,
} from "./webhook-scene.ts";

/** A request that a reviewer denies at once. */
export async function denied(scene: WebhookScene, token: string): Promise<ApprovalRequest> {
  const { id } = await scene.server.submit(token);
  const { status } = await scene.server.decide(scene.reviewer, id, "deny");
  assert.equal(status, 200);
  return scene.server.read(token, id);
}

/** The notification of a request as it is stored. */
export async function notificationOf(
  scene: Pick<WebhookScene, "server">,
  { id }: Pick<ApprovalRequest, "id">,
): Promise<OutboxRow> {
  const row = (await outbox(scene)).find(({ request_id }) => request_id === id);
  assert.ok(row, "the request has a notification");
  return row;
}

/** Waits until as many attempts are recorded for this request, at the clock's time. */
export async function untilAttempted(
  scene: WebhookScene,
  request: Pick<ApprovalRequest, "id">,
  attempts: number,
): Promise<OutboxRow> {
  const isRecorded = async () => (await notificationOf(scene, request)).attempts >= attempts;
  await untilDelivered(scene, isRecorded, `attempt ${attempts} is recorded`);
  return notificationOf(scene, request);
}

/** How often the worker asks who waits. */
const SCAN_MS = 1_000;

/**
 * Lets the worker do what is due now. With something at hand it looks for room many times a second,
 * and through a week of that a test takes its time.
 */
async function settle({ clock }: Pick<WebhookScene, "clock">): Promise<void> {
  await turns();
  clock.advance(0);
  await turns();
}

/** Moves time there, and on until the worker has asked who waits. */
export async function reach({ clock }: Pick<WebhookScene, "clock">, at: number): Promise<void> {
  await settle({ clock });
  clock.advance(Math.max(0, at - clock.now()));
  await turns();
  clock.advance(SCAN_MS);
}

/**
 * Moves time to the next attempt, and on while it is not begun. Returns when it is recorded, or
 * delivery has ended.
 */
export async function attemptNext(
  scene: WebhookScene,
  request: Pick<ApprovalRequest, "id">,
): Promise<OutboxRow> {
  const { next_at, attempts } = await notificationOf(scene, request);
  assert.ok(next_at !== null, "delivery has not ended");
  await reach(scene, next_at);
  const isOver = async () => {
    const row = await notificationOf(scene, request);
    if (row.attempts > attempts || row.ended_at !== null) return true;
    // A breaker may put it off; what has begun must not run out of time here.
    if (row.claimed_until !== null) return false;
    if ((row.next_at ?? 0) > scene.clock.now()) await reach(scene, row.next_at ?? 0);
    else await pass(scene, 250);
    return false;
  };
  await untilDelivered(scene, isOver, "the next attempt is recorded");
  return notificationOf(scene, request);
}

/** Lets time pass in steps, with turns for the workers in between. */
export async function pass(
  { clock }: Pick<WebhookScene, "clock">,
  ms: number,
  stepMs = 250,
): Promise<void> {
  await settle({ clock });
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left));
    await turns(5);
  }
  await turns();
}

/** The same scene after a restart of its server, perhaps with other settings. */
export async function restartWebhooks(
  t: Lifetime,
  scene: WebhookScene,
  settings: Readonly<Record<string, string>> = {},
): Promise<WebhookScene> {
  await scene.server.stop();
  const server = await startTestProvider(t, {
    clock: scene.clock,
    ca: [scene.receiver.certificate],
    data: scene.server.data,
    settings: { webhook_allow_cidrs: "127.0.0.0/8", ...settings },
  });
  return { ...scene, server };
}

/** A clock that is set now and then, while timers go on as they were: as in an operating system. */
export class SetClock extends ManualClock {
  /** How far it was set, ms. */
  setBy = 0;

  override now(): number {
    return super.now() + this.setBy;
  }
}

/** Changes stored rows from outside, as an accident or a restored backup would. */
export async function tamper(
  { server }: Pick<WebhookScene, "server">,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<void> {
  await withDatabase(server.data, (database) => database.run(sql, values));
}

/**
 * More instances like the one of this notification, each with a receiver of its own at the same
 * URL and a copy of the notification, due at once.
 *
 * @returns their ids
 */
export async function copyInstances(
  { server }: Pick<WebhookScene, "server">,
  original: OutboxRow,
  count: number,
): Promise<string[]> {
  const { context } = server.provider;
  const { random, store } = context;
  const { instance_id } = JSON.parse(original.body) as RequestResolvedEvent;
  const like = await store.get("select * from instance where id = $1", [instance_id]);
  const receiver = await store.get("select * from receiver where instance_id = $1", [instance_id]);
  const url = parseWebhookUrl(String(receiver?.url), { internalNames: true });
  assert.ok(like && url);
  const ids = Array.from({ length: count }, () => random.uuid());
  await store.transact(async (tx) => {
    for (const id of ids) {
      const projectId = String(like.project_id);
      await insertInstance(tx, {
        id,
        projectId,
        name: String(like.name),
        provisionerId: String(like.provisioner_id),
        createdAt: Number(like.created_at),
      });
      const registrationId = random.uuid();
      const delivery = { type: "webhook", url, registrationId, signingSecret: SIGNING_SECRET };
      const instance = { projectId, instanceId: id };
      await installReceiver(tx, context, instance, delivery as WebhookDeliveryInput);
    }
  });
  const due = { next_at: original.created_at, attempts: 0, ended_at: null, ended_by: null };
  const copies = ids.map((id) => ({ ...due, instance_id: id }));
  await copyDeliveries(server, original, copies);
  return ids;
}

/** Messages that the test answers itself. Give `receive` to a scene. */
export class ManualMessages {
  readonly #answers: ((status: number) => void)[] = [];
  /** How many are open now, and were at most at any time. */
  open = 0;
  openMax = 0;

  readonly receive: AnswerMessage = (_, response) => {
    this.open++;
    this.openMax = Math.max(this.openMax, this.open);
    response.once("close", () => {
      this.open--;
    });
    this.#answers.push((status) => response.writeHead(status).end());
  };

  /** How many have arrived, answered or not. */
  get arrived(): number {
    return this.#answers.length;
  }

  /** @param index of the message, in the order of arrival */
  answer(index: number, status: number): void {
    const answer = this.#answers[index];
    assert.ok(answer, `message ${index} has arrived`);
    answer(status);
  }
}
