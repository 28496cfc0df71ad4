/** PATCH /v1/instances/{id} with a delivery: replacing, removing and keeping receivers. */

import type { Answer } from "../client/check-answer.ts";
import { pause } from "../clock.ts";
import type { RequirementId } from "../contract/index.ts";
import { expectRefusal, expectStatus, type Kit, type OwnInstance } from "../kit.ts";
import { challenged, type Registration } from "../receiver/registration.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

const NEEDS = { mode: "asynchronous", needs: ["receiver"] } as const;

/** How many are sent at the same time, where one may win. */
const CONTENDERS = 6;

export function updateWith(
  kit: Kit,
  { id }: OwnInstance,
  body: unknown,
  key = kit.key(),
): Promise<Answer> {
  return kit.call("updateInstance", { token: kit.provisioner, id, key, body });
}

/** Reads the instance, and holds its name and receiver against what they must be. */
async function expectInstance(
  kit: Kit,
  { id }: OwnInstance,
  expected: { readonly name?: string; readonly registration: Registration | undefined },
  rule: RequirementId,
): Promise<void> {
  const answer = await kit.call("getInstance", { token: kit.provisioner, id });
  expectStatus(answer, 200, "instance.read");
  const { name, delivery } = answer.instance ?? {};
  const isNamed = expected.name === undefined || expected.name === name;
  expect(isNamed, rule, `the name is ${JSON.stringify(name)}`);
  const wanted = expected.registration?.registrationId;
  const isSame =
    delivery?.registrationId === wanted && delivery?.url === expected.registration?.url;
  expect(isSame, rule, delivery === undefined ? "it has no receiver" : "its receiver is another");
}

function expectCount({ verifications }: Registration, count: number, rule: RequirementId): void {
  const came = verifications.length;
  expect(came === count, rule, `${came} verifications came, not ${count}`);
}

/** Has a request end, and waits for its notification. */
async function expectNotified(
  kit: Kit,
  instance: OwnInstance,
  registration: Registration,
  rule: RequirementId,
): Promise<void> {
  const { id } = await kit.submit(instance);
  await kit.cancelled(instance, id);
  const condition = () => registration.notifications.some(({ requestId }) => requestId === id);
  const boundMs = kit.timing.retryPatienceMs;
  await kit.expectMessage(registration, condition, rule, "a notification at the receiver", boundMs);
}

export const RECEIVER_UPDATES: readonly Scenario[] = [
  scenario(
    "receiver.update.replaced",
    "A supplied delivery replaces URL, registration and secret, once it is verified",
    ["delivery.update.replaces", "verification.once", "signature.value"],
    async (kit) => {
      const rule = "delivery.update.replaces";
      const { instance, registration } = await kit.provisionReceiving();
      const next = kit.register();
      const answer = await updateWith(kit, instance, { delivery: next.delivery });
      expectStatus(answer, 200, rule);
      expectCount(next, 1, "verification.once");
      expectCount(registration, 1, "verification.once");
      await expectInstance(kit, instance, { name: instance.name, registration: next }, rule);
      await expectNotified(kit, instance, next, rule);
      const { length } = registration.notifications;
      expect(length === 0, rule, "the receiver that was replaced got a notification");
    },
    NEEDS,
  ),
  scenario(
    "receiver.update.added",
    "An instance without a receiver gets one",
    ["instance.update.renames", "instance.shape"],
    async (kit) => {
      const instance = await kit.provision();
      const registration = kit.register();
      const body = { instance_name: "Renamed", delivery: registration.delivery };
      expectStatus(await updateWith(kit, instance, body), 200, "instance.update.renames");
      const expected = { name: "Renamed", registration };
      await expectInstance(kit, instance, expected, "instance.shape");
      await expectNotified(kit, instance, registration, "event.emitted");
    },
    NEEDS,
  ),
  scenario(
    "receiver.update.omitted",
    "An update keeps omitted fields: a rename the receiver, a replacement the name",
    ["instance.update.omitted-unchanged", "delivery.update.keeps"],
    async (kit) => {
      const rule = "instance.update.omitted-unchanged";
      const { instance, registration } = await kit.provisionReceiving();
      const keeps = "delivery.update.keeps";
      expectStatus(await updateWith(kit, instance, { instance_name: "A" }), 200, keeps);
      expectCount(registration, 1, keeps);
      await expectInstance(kit, instance, { name: "A", registration }, keeps);
      const next = kit.register();
      expectStatus(await updateWith(kit, instance, { delivery: next.delivery }), 200, rule);
      await expectInstance(kit, instance, { name: "A", registration: next }, rule);
      expectStatus(await updateWith(kit, instance, { delivery: null }), 200, rule);
      await expectInstance(kit, instance, { name: "A", registration: undefined }, rule);
    },
    NEEDS,
  ),
  scenario(
    "receiver.update.removed",
    "A null delivery removes the receiver; later decisions are not notified",
    ["delivery.update.removes", "instance.update.delivery-null", "instance.shape"],
    async (kit) => {
      const rule = "delivery.update.removes";
      const { instance, registration } = await kit.provisionReceiving();
      const { id } = await kit.submit(instance);
      const answer = await updateWith(kit, instance, { delivery: null });
      const isNull = "instance.update.delivery-null";
      expectStatus(answer, 200, isNull);
      expect(answer.instance?.delivery === undefined, isNull, "the answer still shows a delivery");
      await expectInstance(kit, instance, { registration: undefined }, isNull);
      await kit.cancelled(instance, id);
      const came = () => registration.notifications.length > 0;
      await kit.expectQuiet(registration, came, rule, "the removed receiver got a notification");
    },
    { ...NEEDS, isSlow: true },
  ),
  scenario(
    "receiver.update.refused",
    "An update with a failing receiver returns 422, changes nothing and can be retried",
    ["delivery.update.failed", "instance.update.refused-changes-nothing"],
    async (kit) => {
      const rule = "delivery.update.failed";
      const { instance, registration } = await kit.provisionReceiving();
      const next = kit.register({
        onVerification: (message, index) => (index === 0 ? { status: 403 } : challenged(message)),
      });
      const key = kit.key();
      const body = { instance_name: "Changed", delivery: next.delivery };
      const refused = await updateWith(kit, instance, body, key);
      expectRefusal(refused, 422, rule, "webhook_verification_failed");
      const before = { name: instance.name, registration };
      await expectInstance(kit, instance, before, "instance.update.refused-changes-nothing");
      await expectNotified(kit, instance, registration, rule);
      expectStatus(await updateWith(kit, instance, body, key), 200, rule);
      await expectInstance(kit, instance, { name: "Changed", registration: next }, rule);
    },
    NEEDS,
  ),
  scenario(
    "receiver.update.malformed",
    "An update with a malformed delivery is rejected without a verification and changes nothing",
    ["instance.update.refused-changes-nothing", "delivery.url.syntax"],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving();
      const delivery = { ...kit.register().delivery, url: "http://example.com/hook" };
      const answer = await updateWith(kit, instance, { instance_name: "Changed", delivery });
      expectRefusal(answer, 400, "delivery.url.syntax", "invalid_webhook_url");
      const before = { name: instance.name, registration };
      await expectInstance(kit, instance, before, "instance.update.refused-changes-nothing");
    },
    NEEDS,
  ),
  scenario(
    "receiver.update.replay",
    "A replayed update neither verifies nor applies again",
    ["delivery.update.replay-no-verification", "instance.update.replay"],
    async (kit) => {
      const rule = "delivery.update.replay-no-verification";
      const instance = await kit.provision();
      const [first, second] = [kit.register(), kit.register()];
      const key = kit.key();
      const body = { delivery: first.delivery };
      expectStatus(await updateWith(kit, instance, body, key), 200, rule);
      expectStatus(await updateWith(kit, instance, { delivery: second.delivery }), 200, rule);
      const replay = await updateWith(kit, instance, body, key);
      expectStatus(replay, 200, rule);
      expectCount(first, 1, rule);
      const shown = replay.instance?.delivery?.registrationId;
      const isOriginal = shown === first.registrationId;
      expect(isOriginal, "instance.update.replay", "the replay shows another receiver");
      await expectInstance(kit, instance, { registration: second }, rule);
    },
    NEEDS,
  ),
  scenario(
    "receiver.update.coalesced",
    "Concurrent updates with one key ask the receiver once",
    ["delivery.update.coalesced", "instance.update.concurrent"],
    async (kit) => {
      const rule = "delivery.update.coalesced";
      const instance = await kit.provision();
      const registration = kit.register({
        onVerification: async (message) => {
          await pause(500, kit.signal);
          return challenged(message);
        },
      });
      const key = kit.key();
      const all = Array.from({ length: CONTENDERS }, () => {
        return updateWith(kit, instance, { delivery: registration.delivery }, key);
      });
      for (const answer of await Promise.all(all)) expectStatus(answer, 200, rule);
      expectCount(registration, 1, rule);
    },
    NEEDS,
  ),
  scenario(
    "receiver.update.deletion-wins",
    "A deletion while the receiver is asked wins",
    ["delivery.update.deletion-wins"],
    async (kit) => {
      const rule = "delivery.update.deletion-wins";
      const instance = await kit.provision();
      const released = Promise.withResolvers<void>();
      const registration = kit.register({
        onVerification: async (message) => {
          await released.promise;
          return challenged(message);
        },
      });
      const update = updateWith(kit, instance, { delivery: registration.delivery });
      const isVerified = () => registration.verifications.length > 0;
      try {
        await kit.expectMessage(registration, isVerified, rule, "the verification");
        await kit.deleted(instance);
      } finally {
        released.resolve();
        await update.catch(() => {});
      }
      const answer = await update;
      expect(answer.status >= 400, rule, `${answer.what} although the instance is deleted`);
      const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      expectRefusal(read, 404, rule);
    },
    NEEDS,
  ),
];
