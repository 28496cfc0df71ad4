/** Notifications that are not acknowledged. */

import { pause } from "../clock.ts";
import type { RequirementId } from "../contract/index.ts";
import { expectStatus, type Kit } from "../kit.ts";
import type { Message } from "../receiver/message.ts";
import { HELD, type Plan, type Registration, type Reply } from "../receiver/registration.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";
import { updateWith } from "./receiver-updates.ts";

const NEEDS = { mode: "asynchronous", needs: ["receiver"], isSlow: true } as const;

/** The contract's bound of an attempt, and what two clocks and a busy machine add to it. */
const ATTEMPT_MS_MAX = 10_000;
const TOLERANCE_MS = 3_000;

/** Two attempts within it may have the same timestamp, which is in whole seconds. */
const SAME_SECOND_MS_MAX = 2_000;

/** For an attempt that has left to arrive. */
const IN_FLIGHT_MS = 300;

/** Longer than a first step of backoff is anywhere known. */
const RETRY_AFTER_S = 6;

/** The first attempt fails so, all others are acknowledged. */
function failingOnce(reply: Reply | typeof HELD): Plan {
  return { onNotification: (_, index) => (index === 0 ? reply : { status: 204 }) };
}

/** All fail, so that one is to come whenever the scenario has done what it is about. */
const FAILING: Plan = { onNotification: () => ({ status: 500 }) };

/** An instance with an event whose first attempt has failed. */
async function failed(kit: Kit, plan: Plan = failingOnce({ status: 500 })) {
  const { instance, registration } = await kit.provisionReceiving(plan);
  const { id } = await kit.submit(instance);
  await kit.cancelled(instance, id);
  const first = await attempt(kit, registration, 0, "event.emitted");
  return { instance, registration, first };
}

/** Waits for an attempt. */
async function attempt(
  kit: Kit,
  registration: Registration,
  index: number,
  rule: RequirementId,
): Promise<Message> {
  const came = () => registration.notifications.length > index;
  const boundMs = kit.timing.retryPatienceMs;
  await kit.expectMessage(registration, came, rule, `attempt ${index + 1}`, boundMs);
  const message = registration.notifications[index];
  expect(message !== undefined, rule, `attempt ${index + 1} did not come`);
  return message;
}

function expectSame(first: Message, second: Message): void {
  const rule = "event.identical";
  expect(first.id === second.id, rule, "the second attempt has another id");
  expect(first.body.equals(second.body), rule, "the second attempt has another body");
}

function expectFresh(first: Message, second: Message): void {
  const isLater = Number(second.timestamp) > Number(first.timestamp);
  const isSoon = second.arrivedAt - first.arrivedAt < SAME_SECOND_MS_MAX;
  const rule = "signature.fresh";
  expect(isLater || isSoon, rule, "the second attempt has the timestamp of the first");
}

/** No more comes, in the time in which something would. */
async function expectEnded(kit: Kit, registration: Registration, rule: RequirementId) {
  const { length } = registration.notifications;
  const more = () => registration.notifications.length > length;
  await kit.expectQuiet(registration, more, rule, "another attempt came");
}

export const RETRY: readonly Scenario[] = [
  scenario(
    "retry.repeated",
    "A failed attempt is repeated with the same id and body, signed afresh, until a 2xx",
    ["event.retry.repeated", "event.identical", "signature.fresh", "event.acknowledged"],
    async (kit) => {
      const { registration, first } = await failed(kit);
      const second = await attempt(kit, registration, 1, "event.retry.repeated");
      expectSame(first, second);
      expectFresh(first, second);
      await expectEnded(kit, registration, "event.acknowledged");
    },
    NEEDS,
  ),
  scenario(
    "retry.statuses",
    "Every status other than 2xx is a failure",
    ["event.retry.repeated"],
    async (kit) => {
      const statuses = [400, 401, 404, 410, 418, 500, 502];
      const tried = statuses.map(async (status) => {
        const { registration, first } = await failed(kit, failingOnce({ status }));
        expectSame(first, await attempt(kit, registration, 1, "event.retry.repeated"));
      });
      await Promise.all(tried);
    },
    NEEDS,
  ),
  scenario(
    "retry.after",
    "Retry-After on 429 and 503 is honoured",
    ["event.retry.retry-after", "event.retry.repeated", "signature.fresh"],
    async (kit) => {
      const rule = "event.retry.retry-after";
      const headers = { "retry-after": String(RETRY_AFTER_S) };
      const tried = [429, 503].map(async (status) => {
        const { registration, first } = await failed(kit, failingOnce({ status, headers }));
        const second = await attempt(kit, registration, 1, "event.retry.repeated");
        const passedMs = second.arrivedAt - first.arrivedAt;
        // Tolerates rounding by the provider.
        const isLate = passedMs >= RETRY_AFTER_S * 1000 - 100;
        const message = `${status} asked for ${RETRY_AFTER_S} s and got ${Math.round(passedMs)} ms`;
        expect(isLate, rule, message);
        expectFresh(first, second);
      });
      await Promise.all(tried);
    },
    NEEDS,
  ),
  scenario(
    "retry.redirect",
    "A redirect is a failure and is not followed",
    ["delivery.url.no-redirects"],
    async (kit) => {
      const trap = kit.register({ forbidden: "delivery.url.no-redirects" });
      const tried = [302, 307].map(async (status) => {
        const { registration } = await failed(
          kit,
          failingOnce({ status, headers: { location: trap.url } }),
        );
        await attempt(kit, registration, 1, "delivery.url.no-redirects");
      });
      await Promise.all(tried);
      kit.checkMessages();
    },
    NEEDS,
  ),
  scenario(
    "retry.timeout",
    "An attempt that is not answered ends within ten seconds, and is the only one until then",
    [
      "event.retry.ten-seconds",
      "event.retry.one-outstanding",
      "event.retry.repeated",
      "event.identical",
    ],
    async (kit) => {
      const { registration, first } = await failed(kit, failingOnce(HELD));
      const ended = () => registration.heldMs.length > 0;
      const rule = "event.retry.ten-seconds";
      const boundMs = ATTEMPT_MS_MAX + TOLERANCE_MS;
      await kit.expectMessage(registration, ended, rule, "the end of an attempt", boundMs);
      const second = await attempt(kit, registration, 1, "event.retry.repeated");
      expectSame(first, second);
      const isAlone = registration.overlaps === 0;
      expect(isAlone, "event.retry.one-outstanding", "two attempts were under way at once");
    },
    NEEDS,
  ),
  scenario(
    "retry.expired",
    "The expiry of a request does not end the attempts to deliver its event",
    ["event.retry.expired-request"],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving(failingOnce({ status: 500 }));
      const { windowMs } = await kit.submitBrief(instance);
      await pause(windowMs, kit.signal);
      const first = await attempt(kit, registration, 0, "event.emitted");
      expectSame(first, await attempt(kit, registration, 1, "event.retry.expired-request"));
    },
    NEEDS,
  ),
  scenario(
    "retry.removed",
    "Removing the receiver ends the attempts, and a later receiver does not revive them",
    ["event.retry.ended", "delivery.update.removes", "delivery.update.ended-stay-ended"],
    async (kit) => {
      const rule = "event.retry.ended";
      const { instance, registration } = await failed(kit, failingOnce(HELD));
      // The first attempt is under way and may end as it will.
      expectStatus(await updateWith(kit, instance, { delivery: null }), 200, rule);
      const next = kit.register();
      expectStatus(await updateWith(kit, instance, { delivery: next.delivery }), 200, rule);
      const over = () => registration.heldMs.length > 0;
      await registration.until(over, ATTEMPT_MS_MAX + TOLERANCE_MS, kit.signal);
      await expectEnded(kit, registration, rule);
      const { length } = next.notifications;
      const revived = "the new receiver received a notification that the removal had ended";
      expect(length === 0, "delivery.update.ended-stay-ended", revived);
    },
    NEEDS,
  ),
  scenario(
    "retry.deleted",
    "Deleting the instance ends the attempts",
    ["event.retry.ended", "delivery.delete.ends"],
    async (kit) => {
      const { instance, registration } = await failed(kit, FAILING);
      await kit.deleted(instance);
      // An attempt in flight may still arrive.
      await pause(IN_FLIGHT_MS, kit.signal);
      await expectEnded(kit, registration, "event.retry.ended");
    },
    NEEDS,
  ),
  scenario(
    "retry.replaced",
    "After a replacement the next attempt goes to the new receiver, with the same id and body",
    ["delivery.update.queued-follow", "event.identical"],
    async (kit) => {
      const rule = "delivery.update.queued-follow";
      const { instance, registration, first } = await failed(kit, FAILING);
      const next = kit.register();
      expectStatus(await updateWith(kit, instance, { delivery: next.delivery }), 200, rule);
      expectSame(first, await attempt(kit, next, 0, rule));
      const { length } = registration.notifications;
      const further = () => registration.notifications.length > length;
      const what = "the receiver that was replaced got a further attempt";
      await kit.expectQuiet(registration, further, rule, what);
    },
    NEEDS,
  ),
];
