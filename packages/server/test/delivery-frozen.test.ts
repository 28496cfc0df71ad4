/**
 * Processes that were stopped and go on: to them, a long time has passed in one step. Long ones
 * are a clock that is set ahead without calling anybody; a real one lasts longer than an attempt.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Resolver } from "../src/egress/resolve-host.ts";
import { reach } from "./support/notifications.ts";
import { until } from "./support/until.ts";
import {
  type OutboxRow,
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  untilDelivered,
  type WebhookScene,
  type WebhookSceneOptions,
} from "./support/webhook-scene.ts";
import {
  arrived,
  decided,
  newNotifiedAgent,
  startWebhookServer,
  untilNothingWaits,
} from "./support/webhook-server.ts";

/** Beyond every lease and every time limit. */
const FROZEN_MS = 5 * 60_000;

interface FrozenScene extends WebhookScene {
  /** Decides a request of an instance whose receiver is the scene's. */
  decide(): Promise<void>;
  /** The most exchanges that were open at one time. */
  readonly openAtOnceMax: number;
}

/** A scene whose receiver keeps the first notification and acknowledges the others. */
async function startFrozenScene(
  t: TestContext,
  options: WebhookSceneOptions = {},
): Promise<FrozenScene> {
  let open = 0;
  let openAtOnceMax = 0;
  const scene = await startWebhookScene(t, {
    onNotification(_, response) {
      open++;
      openAtOnceMax = Math.max(openAtOnceMax, open);
      response.once("close", () => open--);
      if (scene.notifications.length > 1) response.writeHead(204).end();
    },
    ...options,
  });
  const { token } = await provisionWithReceiver(scene);
  return {
    ...scene,
    async decide() {
      const { id } = await scene.server.submit(token);
      await scene.server.call("DELETE", `/v1/requests/${id}`, { token });
    },
    get openAtOnceMax() {
      return openAtOnceMax;
    },
  };
}

async function onlyRow(scene: WebhookScene): Promise<OutboxRow> {
  const [row] = await outbox(scene);
  assert.ok(row, "no notification was written");
  return row;
}

/** Lets the process go on, at the time that it is now, until its attempt is recorded. */
async function untilRecorded(scene: WebhookScene): Promise<OutboxRow> {
  await untilDelivered(
    scene,
    async () => (await onlyRow(scene)).claimed_until === null,
    "the attempt is recorded",
  );
  return onlyRow(scene);
}

async function untilAcknowledged(scene: WebhookScene): Promise<void> {
  const { next_at } = await onlyRow(scene);
  await reach(scene, next_at ?? 0);
  await untilDelivered(
    scene,
    async () => (await onlyRow(scene)).ended_by === "acknowledged",
    "the notification is acknowledged",
  );
}

test("[ours.delivery.frozen] a process paused during an attempt records it before it starts another one", async (t) => {
  const scene = await startFrozenScene(t);
  const { clock, notifications } = scene;
  await scene.decide();
  await untilDelivered(scene, () => notifications.length === 1, "the first attempt");

  clock.stop(FROZEN_MS);

  const { attempts, last_outcome, next_at } = await untilRecorded(scene);
  assert.deepEqual([attempts, last_outcome], [1, "unreachable:timeout"]);
  assert.ok(Number(next_at) > clock.now());
  assert.equal(notifications.length, 1);
  await untilAcknowledged(scene);
  assert.deepEqual(notifications[1]?.body, notifications[0]?.body);
  assert.deepEqual([notifications.length, scene.openAtOnceMax], [2, 1]);
});

test("[ours.delivery.frozen] a process that was stopped between claim and attempt does not begin it: its lease may be another's", async (t) => {
  const scene = await startFrozenScene(t);
  const { clock, notifications } = scene;
  const { store } = scene.server.provider.context;
  const transact = store.transact.bind(store);
  let wasStopped = false;
  t.mock.method(store, "transact", async (...work: Parameters<typeof transact>) => {
    const result = await transact(...work);
    const row = await onlyRow(scene).catch(() => undefined);
    if (!wasStopped && row !== undefined && row.claimed_until !== null) {
      wasStopped = true;
      clock.stop(FROZEN_MS);
    }
    return result;
  });

  await scene.decide();
  await untilDelivered(scene, () => wasStopped, "the notification is claimed");
  const { attempts, next_at } = await untilRecorded(scene);

  assert.equal(attempts, 0);
  assert.ok(Number(next_at) > clock.now());
  assert.equal(notifications.length, 0);
});

/** A name server whose next answer comes when the test says so. */
class PausableResolver implements Resolver {
  queried = 0;
  #pause: PromiseWithResolvers<void> | undefined;

  async resolve(): Promise<readonly string[]> {
    this.queried++;
    await this.#pause?.promise;
    return ["127.0.0.1"];
  }

  pause(): void {
    this.#pause = Promise.withResolvers();
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }
}

for (const [how, setBackMs] of [
  ["with an unchanged clock", 0],
  ["also if its clock was set back meanwhile", 2 * FROZEN_MS],
] as const) {
  test(`[ours.delivery.frozen] a process paused before it sends does not send when it continues, ${how}`, async (t) => {
    const resolver = new PausableResolver();
    const scene = await startFrozenScene(t, { resolver });
    const { clock, notifications } = scene;
    resolver.pause();
    await scene.decide();
    await untilDelivered(scene, () => resolver.queried === 2, "the attempt asks for the address");

    clock.stop(FROZEN_MS);
    clock.set(clock.now() - setBackMs);
    // The answer is dealt with before any timer is.
    resolver.resume();
    await until(async () => (await onlyRow(scene)).attempts === 1, "the attempt is over");

    assert.equal((await onlyRow(scene)).last_outcome, "unreachable:timeout");
    assert.equal(notifications.length, 0);
  });
}

/** Longer than an attempt may last. */
const STOPPED_MS = 10_000;

test("[ours.delivery.frozen] a server that SIGSTOP keeps for longer than an attempt has never two open for one event, and delivers it", async (t) => {
  const webhooks = await startWebhookServer(t);
  const agent = await newNotifiedAgent(webhooks);
  webhooks.onNotification = () => {};
  await decided(agent);
  const first = await arrived(webhooks, 1);
  const { process } = webhooks.server;
  process.signal("SIGSTOP");
  await sleep(STOPPED_MS);
  webhooks.onNotification = ({ answer }) => void answer(204);
  process.signal("SIGCONT");

  const second = await arrived(webhooks, 2);
  assert.deepEqual([second.id, second.body], [first.id, first.body]);
  await untilNothingWaits(webhooks);
  assert.deepEqual([webhooks.notifications.length, webhooks.openAtOnceMax], [2, 1]);
});

test("[ours.delivery.frozen] a server paused by SIGSTOP uses a response from the pause when it continues", async (t) => {
  const webhooks = await startWebhookServer(t);
  const agent = await newNotifiedAgent(webhooks);
  webhooks.onNotification = () => {};
  await decided(agent);
  const first = await arrived(webhooks, 1);
  const { process } = webhooks.server;
  process.signal("SIGSTOP");
  await first.answer(204);
  process.signal("SIGCONT");
  await untilNothingWaits(webhooks);
  assert.equal(webhooks.notifications.length, 1);
});
