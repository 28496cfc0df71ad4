/** request.resolved: that it comes, once, and what is in it. Retries are in retry.ts. */

import type { RequestResource } from "../client/read-resources.ts";
import { expectStatus, type Kit, type OwnInstance } from "../kit.ts";
import type { Message } from "../receiver/message.ts";
import type { Registration } from "../receiver/registration.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";
import { updateWith } from "./receiver-updates.ts";

const NEEDS = { mode: "asynchronous", needs: ["receiver"] } as const;

export function messagesOf({ notifications }: Registration, requestId: string): Message[] {
  return notifications.filter((message) => message.requestId === requestId);
}

/** Waits for the notification of a request, and holds it against what the request says. */
async function expectEvent(
  kit: Kit,
  instance: OwnInstance,
  registration: Registration,
  ended: RequestResource,
): Promise<Message> {
  const rule = "event.emitted";
  const came = () => messagesOf(registration, ended.id).length > 0;
  await kit.expectMessage(registration, came, rule, `the notification of ${ended.status}`);
  const [message] = messagesOf(registration, ended.id);
  expect(message !== undefined, rule, "there is no notification");
  const isOwn = message.instanceId === instance.id;
  expect(isOwn, "event.body", "the notification names another instance");
  const decidedAt = ended.decision?.decidedAt;
  const text = `created_at is ${message.createdAt}, decided_at ${decidedAt}`;
  expect(message.createdAt === decidedAt, "event.created-at", text);
  return message;
}

export const NOTIFY: readonly Scenario[] = [
  scenario(
    "notify.cancelled",
    "A cancellation is notified, and by then the request shows it",
    ["event.emitted", "event.created-at", "event.body"],
    async (kit) => {
      const seen: string[] = [];
      const { instance, registration } = await kit.provisionReceiving({
        onNotification: async ({ requestId }) => {
          const { status } = await kit.read(instance, requestId);
          seen.push(status);
          return { status: 204 };
        },
      });
      const { id } = await kit.submit(instance);
      const ended = await kit.cancelled(instance, id);
      await expectEvent(kit, instance, registration, ended);
      const isRead = () => seen.length > 0;
      const rule = "event.created-at";
      await kit.expectMessage(registration, isRead, rule, "the read of the request");
      expect(seen[0] === "cancelled", rule, `when it was notified, the request was ${seen[0]}`);
    },
    NEEDS,
  ),
  scenario(
    "notify.decided",
    "An approval and a denial are notified, without the decision in the message",
    ["event.emitted", "event.created-at", "event.body"],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving();
      for (const verdict of ["approve", "deny"] as const) {
        const { id } = await kit.submit(instance);
        const ended = await kit.decide(instance, id, verdict, "a note");
        await expectEvent(kit, instance, registration, ended);
      }
    },
    { ...NEEDS, needs: ["receiver", "decider"] },
  ),
  scenario(
    "notify.expired",
    "An expiry is notified even if no client reads the request",
    ["event.emitted", "event.created-at", "request.expire"],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving();
      const { request, windowMs } = await kit.submitBrief(instance);
      const came = () => messagesOf(registration, request.id).length > 0;
      const boundMs = windowMs + kit.timing.patienceMs;
      const rule = "event.emitted";
      await kit.expectMessage(registration, came, rule, "the notification of an expiry", boundMs);
      const ended = await kit.read(instance, request.id);
      expect(ended.status === "expired", "request.expire", `it is ${ended.status}`);
      await expectEvent(kit, instance, registration, ended);
    },
    { ...NEEDS, isSlow: true },
  ),
  scenario(
    "notify.single",
    "A request is notified once, even if operations are repeated",
    ["event.emitted", "delivery.request.replay-silent", "event.acknowledged"],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving();
      const { id, key, body } = await kit.submit(instance);
      const ended = await kit.cancelled(instance, id);
      await expectEvent(kit, instance, registration, ended);
      await kit.cancelled(instance, id);
      const replay = { token: instance.token, key, body };
      expectStatus(await kit.call("createApprovalRequest", replay), 200, "request.create.replay");
      const again = () => registration.notifications.length > 1;
      const rule = "delivery.request.replay-silent";
      await kit.expectQuiet(registration, again, rule, "it was notified a second time");
    },
    { ...NEEDS, isSlow: true },
  ),
  scenario(
    "notify.acknowledged",
    "Any 2xx completes the delivery, with any body",
    ["event.acknowledged"],
    async (kit) => {
      const statuses = [200, 201, 202, 204, 206, 299];
      const { instance, registration } = await kit.provisionReceiving({
        onNotification: (_, index) => {
          const status = statuses[index] ?? 200;
          return { status, ...(status !== 204 && { body: '{"error":"ignored"}' }) };
        },
      });
      for (const _ of statuses) {
        const { id } = await kit.submit(instance);
        await expectEvent(kit, instance, registration, await kit.cancelled(instance, id));
      }
      const again = () => registration.notifications.length > statuses.length;
      const what = "an acknowledged notification came again";
      await kit.expectQuiet(registration, again, "event.acknowledged", what);
    },
    { ...NEEDS, isSlow: true },
  ),
  scenario(
    "notify.race",
    "Of a concurrent verdict and cancellation, exactly one event reports the winner",
    ["event.emitted", "event.created-at"],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving();
      const requests = await Promise.all(Array.from({ length: 6 }, () => kit.submit(instance)));
      const races = requests.flatMap(({ id }) => [
        kit.tryDecide(id, "approve").catch(() => {}),
        kit.cancel(instance, id),
      ]);
      await Promise.all(races);
      for (const { id } of requests) {
        await expectEvent(kit, instance, registration, await kit.read(instance, id));
      }
      const more = () => registration.notifications.length > requests.length;
      const what = "more events came than requests ended";
      await kit.expectQuiet(registration, more, "event.emitted", what);
    },
    { ...NEEDS, needs: ["receiver", "decider"], isSlow: true },
  ),
  scenario(
    "notify.deletion",
    "Deleting an instance notifies none of the cancellations that it causes",
    ["delivery.delete.ends"],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving();
      await Promise.all([kit.submit(instance), kit.submit(instance)]);
      await kit.deleted(instance);
      const came = () => registration.notifications.length > 0;
      const what = "the deletion was notified as a cancellation";
      await kit.expectQuiet(registration, came, "delivery.delete.ends", what);
    },
    { ...NEEDS, isSlow: true },
  ),
  scenario(
    "notify.not-replayed",
    "A receiver gets no event of before it was configured, or that another acknowledged",
    ["event.receiver-only", "delivery.update.ended-stay-ended"],
    async (kit) => {
      const rule = "delivery.update.ended-stay-ended";
      const instance = await kit.provision();
      const before = await kit.submit(instance);
      await kit.cancelled(instance, before.id);
      const first = kit.register();
      expectStatus(await updateWith(kit, instance, { delivery: first.delivery }), 200, rule);
      const { id } = await kit.submit(instance);
      await expectEvent(kit, instance, first, await kit.cancelled(instance, id));
      // The acknowledgement is on its way when the next step begins.
      await kit.quiet();
      const second = kit.register();
      expectStatus(await updateWith(kit, instance, { delivery: second.delivery }), 200, rule);
      const came = () => second.notifications.length > 0;
      await kit.expectQuiet(second, came, rule, "the new receiver got an event that had ended");
      const what = "a receiver got an event of before it was configured";
      expect(first.notifications.length === 1, "event.receiver-only", what);
    },
    { ...NEEDS, isSlow: true },
  ),
];
