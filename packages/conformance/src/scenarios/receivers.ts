/** POST /v1/instances with a receiver, which has to prove itself. */

import { randomUUID } from "node:crypto";
import type { Answer } from "../client/check-answer.ts";
import { pause } from "../clock.ts";
import type { RequirementId } from "../contract/index.ts";
import { expectRefusal, expectStatus, type Kit, provisionedBy } from "../kit.ts";
import type { Message } from "../receiver/message.ts";
import { challenged, type Registration, type Reply } from "../receiver/registration.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

const NEEDS = { mode: "asynchronous", needs: ["receiver"] } as const;

/** A receiver that has to answer within ten seconds, and does later. */
const TOO_LATE_MS = 11_500;

/** How many are sent at the same time, where one may win. */
const CONTENDERS = 6;

export function provisionWith(kit: Kit, delivery: unknown, key = kit.key()): Promise<Answer> {
  const body = { delivery };
  const boundMs = TOO_LATE_MS + kit.timing.patienceMs;
  return kit.tryProvision({ token: kit.provisioner, key, body, boundMs });
}

function expectVerifications({ verifications }: Registration, rule: RequirementId): Message {
  const [first] = verifications;
  const count = verifications.length;
  expect(first !== undefined && count === 1, rule, `${count} verifications came, not one`);
  return first;
}

async function expectUnknown(kit: Kit, id: string, rule: RequirementId): Promise<void> {
  const read = await kit.call("getInstance", { token: kit.provisioner, id });
  expectRefusal(read, 404, rule);
}

const JSON_HEADERS = { "content-type": "application/json" };

/** Every way to fail that is an answer. */
const FAILURES: Readonly<Record<string, (message: Message) => Reply>> = {
  "a 204": () => ({ status: 204 }),
  "a 200 without a body": () => ({ status: 200 }),
  "a 200 with an empty object": () => ({ status: 200, headers: JSON_HEADERS, body: "{}" }),
  "a 200 with another challenge": () => {
    return { status: 200, headers: JSON_HEADERS, body: `{"challenge":"${randomUUID()}"}` };
  },
  "a 200 that is not JSON": ({ challenge }) => ({ status: 200, body: challenge }),
  "a 200 with the challenge elsewhere": (message) => {
    const body = `{"data":{"challenge":"${message.challenge}"}}`;
    return { status: 200, headers: JSON_HEADERS, body };
  },
  "a 201 with the challenge": (message) => ({ ...challenged(message), status: 201 }),
  "a 400": () => ({ status: 400 }),
  "a 401": () => ({ status: 401 }),
  "a 403": () => ({ status: 403 }),
  "a 429": () => ({ status: 429, headers: { "retry-after": "1" } }),
  "a 500 with the challenge": (message) => ({ ...challenged(message), status: 500 }),
};

export const RECEIVERS: readonly Scenario[] = [
  scenario(
    "receiver.verified",
    "A receiver that answers with the challenge is configured, and its secret shown nowhere",
    [
      "verification.success",
      "verification.once",
      "delivery.shape",
      "instance.shape",
      "instance.read.no-secrets",
    ],
    async (kit) => {
      const { instance, registration } = await kit.provisionReceiving();
      expectVerifications(registration, "verification.once");
      const read = await kit.call("getInstance", { token: kit.provisioner, id: instance.id });
      const { delivery } = read.instance ?? {};
      const rule = "delivery.shape";
      expect(delivery !== undefined, "instance.shape", "a read shows no delivery");
      expect(delivery.url === registration.url, rule, `the URL has become ${delivery.url}`);
      const isSame = delivery.registrationId === registration.registrationId;
      expect(isSame, rule, "the registration id has changed");
    },
    NEEDS,
  ),
  scenario(
    "receiver.verified-first",
    "Nothing exists while the receiver is asked",
    ["delivery.provision.verified-first", "verification.reserved-id"],
    async (kit) => {
      let meanwhile: Answer | undefined;
      const registration = kit.register({
        onVerification: async (message) => {
          const call = { token: kit.provisioner, id: message.instanceId };
          meanwhile = await kit.call("getInstance", call).catch(() => undefined);
          return challenged(message);
        },
      });
      const answer = await provisionWith(kit, registration.delivery);
      const { instance } = provisionedBy(answer);
      const rule = "delivery.provision.verified-first";
      expect(meanwhile !== undefined, rule, "the instance could not be asked for meanwhile");
      expectRefusal(meanwhile, 404, "verification.reserved-id");
      const { instanceId } = expectVerifications(registration, rule);
      expect(instanceId === instance.id, "verification.reserved-id", "another id was reserved");
    },
    NEEDS,
  ),
  scenario(
    "receiver.refused",
    "Any other answer of a receiver causes a 422, no second verification and no instance",
    ["verification.bare-2xx", "delivery.provision.failed", "verification.once"],
    async (kit) => {
      const code = "webhook_verification_failed";
      const failed = Object.entries(FAILURES).map(async ([how, reply]) => {
        const registration = kit.register({ onVerification: reply });
        const answer = await provisionWith(kit, registration.delivery);
        const rule = "verification.bare-2xx";
        expect(answer.status === 422, rule, `${how}: ${answer.what}, not 422`);
        expectRefusal(answer, 422, "delivery.provision.failed", code);
        const param = answer.error?.param;
        expect(param === "delivery", "delivery.provision.failed", `param is ${param}`);
        const { instanceId } = expectVerifications(registration, "verification.once");
        await expectUnknown(kit, instanceId, "delivery.provision.failed");
        return registration;
      });
      const registrations = await Promise.all(failed);
      await kit.quiet();
      for (const each of registrations) expectVerifications(each, "verification.once");
    },
    { ...NEEDS, isSlow: true },
  ),
  scenario(
    "receiver.retry-after-failure",
    "After a failure the same key and input may be tried again, and succeed",
    ["delivery.provision.retry-after-failure", "verification.challenge.fresh"],
    async (kit) => {
      const rule = "delivery.provision.retry-after-failure";
      const registration = kit.register({
        onVerification: (message, index) => (index === 0 ? { status: 500 } : challenged(message)),
      });
      const key = kit.key();
      expectStatus(await provisionWith(kit, registration.delivery, key), 422, rule);
      expectStatus(await provisionWith(kit, registration.delivery, key), 201, rule);
      const challenges = new Set(registration.verifications.map(({ challenge }) => challenge));
      const isFresh = challenges.size === 2;
      expect(isFresh, "verification.challenge.fresh", "the second challenge is the first one");
    },
    NEEDS,
  ),
  scenario(
    "receiver.challenge",
    "Every verification has a challenge and an id of its own",
    ["verification.challenge.fresh"],
    async (kit) => {
      const all = await Promise.all([kit.provisionReceiving(), kit.provisionReceiving()]);
      const messages = all.flatMap(({ registration }) => registration.verifications);
      const texts = messages.flatMap(({ id, challenge }) => [id, challenge]);
      const isFresh = new Set(texts).size === texts.length;
      expect(isFresh, "verification.challenge.fresh", "two verifications share an id");
    },
    NEEDS,
  ),
  scenario(
    "receiver.deadline",
    "A receiver that answers after ten seconds has failed",
    ["verification.success"],
    async (kit) => {
      const rule = "verification.success";
      const registration = kit.register({
        onVerification: async (message) => {
          await pause(TOO_LATE_MS, kit.signal);
          return challenged(message);
        },
      });
      const answer = await provisionWith(kit, registration.delivery);
      expectStatus(answer, 422, rule);
      expectVerifications(registration, "verification.once");
    },
    { ...NEEDS, isSlow: true },
  ),
  scenario(
    "receiver.redirect",
    "A receiver that redirects has failed, and is not followed",
    ["delivery.url.no-redirects"],
    async (kit) => {
      const trap = kit.register({ forbidden: "delivery.url.no-redirects" });
      const tried = [301, 302, 303, 307, 308].map(async (status) => {
        const headers = { location: trap.url };
        const registration = kit.register({ onVerification: () => ({ status, headers }) });
        const answer = await provisionWith(kit, registration.delivery);
        kit.checkMessages();
        expectStatus(answer, 422, "delivery.url.no-redirects");
      });
      await Promise.all(tried);
    },
    NEEDS,
  ),
  scenario(
    "receiver.certificate",
    "A receiver with an untrusted certificate gets no message",
    ["delivery.url.certificate"],
    async (kit) => {
      const rule = "delivery.url.certificate";
      const registration = kit.register({ untrusted: true, forbidden: rule });
      const answer = await provisionWith(kit, registration.delivery);
      kit.checkMessages();
      expectStatus(answer, 422, rule);
    },
    NEEDS,
  ),
  scenario(
    "receiver.coalesced",
    "Concurrent provisionings with one key ask the receiver once",
    ["delivery.provision.coalesced", "instance.provision.concurrent"],
    async (kit) => {
      const rule = "delivery.provision.coalesced";
      const registration = kit.register({
        onVerification: async (message) => {
          await pause(500, kit.signal);
          return challenged(message);
        },
      });
      const key = kit.key();
      const all = Array.from({ length: CONTENDERS }, () => {
        return provisionWith(kit, registration.delivery, key);
      });
      const answers = await Promise.all(all);
      expectVerifications(registration, rule);
      const made = answers.filter(({ status }) => status === 201).length;
      expect(made === 1, rule, `${made} of ${CONTENDERS} answers are 201`);
      for (const answer of answers) if (answer.status !== 201) expectStatus(answer, 200, rule);
      const tokens = new Set(answers.map(({ provisioned }) => provisioned?.token));
      expect(tokens.size === 1, rule, `${tokens.size} credentials were issued`);
    },
    NEEDS,
  ),
  scenario(
    "receiver.replay",
    "A replayed provisioning does not ask the receiver again",
    ["delivery.provision.replay-no-verification"],
    async (kit) => {
      const rule = "delivery.provision.replay-no-verification";
      const { instance, registration } = await kit.provisionReceiving();
      const answer = await provisionWith(kit, registration.delivery, instance.key);
      expectStatus(answer, 200, rule);
      expectVerifications(registration, rule);
      expect(answer.provisioned?.token === instance.token, rule, "it is another credential");
    },
    NEEDS,
  ),
];
