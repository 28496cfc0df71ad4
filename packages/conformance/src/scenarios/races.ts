/** Concurrent operations have one outcome, and every answer reports the same one. */

import type { Answer } from "../client/check-answer.ts";
import { NoAnswer } from "../client/connection.ts";
import { pause } from "../clock.ts";
import {
  expectRefusal,
  expectStatus,
  type Kit,
  type OwnInstance,
  requestOf,
  SUBMISSION,
} from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

const ROUNDS = 8;

/** Checks that the answer to a cancellation matches the later state of the request. */
async function expectConsistent(
  kit: Kit,
  instance: OwnInstance,
  id: string,
  cancellation: Answer,
): Promise<string> {
  const rule = "request.one-outcome";
  const after = await kit.read(instance, id);
  const isCancelled = cancellation.status === 200;
  if (!isCancelled) expectRefusal(cancellation, 409, rule, "already_terminal");
  expect(after.status !== "pending", rule, "after all of it the request is pending");
  const reported = isCancelled ? requestOf(cancellation).status : "another end";
  const isRight = isCancelled === (after.status === "cancelled");
  expect(
    isRight,
    rule,
    `the cancellation was answered ${reported}, and the request is ${after.status}`,
  );
  await pause(100, kit.signal);
  const later = await kit.read(instance, id);
  const isSame =
    later.status === after.status && later.decision?.decidedAt === after.decision?.decidedAt;
  expect(isSame, "request.terminal.unchanged", `it was ${after.status}, then ${later.status}`);
  return after.status;
}

export const RACES: readonly Scenario[] = [
  scenario(
    "races.verdict-and-cancellation",
    "Concurrent verdict and cancellation: exactly one wins",
    ["request.one-outcome", "request.terminal.unchanged"],
    async (kit) => {
      const instance = await kit.provision();
      const round = async (_: unknown, index: number) => {
        const { id } = await kit.submit(instance);
        const verdict = index % 2 === 0 ? "approve" : "deny";
        const longPoll = kit.poll(instance, id);
        longPoll.catch(() => {});
        // Each is the first in some of the rounds.
        const [, cancellation] = await Promise.all([
          // The later one may be rejected.
          pause(index * 2, kit.signal).then(() => kit.tryDecide(id, verdict).catch(() => {})),
          pause(ROUNDS, kit.signal).then(() => kit.cancel(instance, id)),
        ]);
        const after = await expectConsistent(kit, instance, id, cancellation);
        const { status } = await longPoll;
        const what = `a long poll was answered ${status}, and the request is ${after}`;
        expect(status === after, "request.one-outcome", what);
      };
      await Promise.all(Array.from({ length: ROUNDS }, round));
    },
    { needs: ["decider"] },
  ),
  scenario(
    "races.two-verdicts",
    "Two concurrent verdicts: exactly one wins",
    ["request.one-outcome", "request.terminal.unchanged"],
    async (kit) => {
      const rule = "request.one-outcome";
      const instance = await kit.provision();
      const round = async () => {
        const { id } = await kit.submit(instance);
        const verdicts = (["approve", "deny"] as const).map((verdict) => {
          return kit.tryDecide(id, verdict).catch(() => {});
        });
        await Promise.all(verdicts);
        const first = await kit.untilTerminal(instance, id, kit.timing.patienceMs, rule);
        const isVerdict = first.status === "approved" || first.status === "denied";
        expect(isVerdict, rule, `after two verdicts it is ${first.status}`);
        await pause(100, kit.signal);
        const later = await kit.read(instance, id);
        const isSame =
          later.status === first.status && later.decision?.decidedAt === first.decision?.decidedAt;
        expect(
          isSame,
          "request.terminal.unchanged",
          `it was ${first.status}, then ${later.status}`,
        );
      };
      await Promise.all(Array.from({ length: ROUNDS }, round));
    },
    { needs: ["decider"] },
  ),
  scenario(
    "races.cancellations",
    "Concurrent cancellations all return the same cancelled request",
    ["request.cancel.repeat", "request.one-outcome"],
    async (kit) => {
      const rule = "request.cancel.repeat";
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const all = Array.from({ length: ROUNDS }, () => kit.cancel(instance, id));
      const times = new Set<string | undefined>();
      for (const answer of await Promise.all(all)) {
        expectStatus(answer, 200, rule);
        times.add(requestOf(answer).decision?.decidedAt);
      }
      expect(times.size === 1, rule, `the answers show ${times.size} decisions`);
    },
  ),
  scenario(
    "races.cancellation-and-deadline",
    "Cancellation at the deadline: exactly one of both wins",
    ["request.one-outcome", "request.terminal.unchanged"],
    async (kit) => {
      const instance = await kit.provision();
      const round = async (_: unknown, index: number) => {
        const { request, windowMs } = await kit.submitBrief(instance);
        // On both sides of the deadline, as far as this machine knows it.
        await pause(windowMs + (index - ROUNDS / 2) * 15, kit.signal);
        const cancellation = await kit.cancel(instance, request.id);
        await expectConsistent(kit, instance, request.id, cancellation);
      };
      await Promise.all(Array.from({ length: ROUNDS }, round));
    },
    { isSlow: true },
  ),
  scenario(
    "races.deletion-and-creations",
    "A deletion concurrent with creations leaves no working credential",
    ["instance.delete.serialised", "instance.delete.credentials-revoked"],
    async (kit) => {
      const rule = "instance.delete.serialised";
      const instance = await kit.provision();
      const { token } = instance;
      const create = async (_: unknown, index: number) => {
        await pause(index, kit.signal);
        const call = { token, key: kit.key(), body: SUBMISSION };
        return kit.call("createApprovalRequest", call);
      };
      const creations = Promise.all(Array.from({ length: 2 * ROUNDS }, create));
      creations.catch(() => {});
      await pause(ROUNDS, kit.signal);
      await kit.deleted(instance);
      const call = { token, key: kit.key(), body: SUBMISSION };
      expectRefusal(await kit.call("createApprovalRequest", call), 401, rule);
      for (const answer of await creations) {
        if (answer.status !== 201) expectRefusal(answer, 401, rule);
        const request = answer.request;
        if (request === undefined) continue;
        const read = await kit.call("getApprovalRequest", { token, id: request.id });
        expectRefusal(read, 401, rule);
      }
    },
  ),
  scenario(
    "races.deletion-and-polls",
    "Deleting an instance ends the polls that are held on its requests",
    ["instance.delete.pending-cancelled"],
    async (kit) => {
      const rule = "instance.delete.pending-cancelled";
      const instance = await kit.provision();
      const { token } = instance;
      const { id } = await kit.submit(instance);
      const boundMs = 300 + kit.timing.patienceMs;
      const query = "?wait=30s";
      const poll = kit.call("getApprovalRequest", { token, id, query, boundMs });
      const longPoll = poll.catch((error: unknown) => error);
      await pause(300, kit.signal);
      await kit.deleted(instance);
      const answer = await longPoll;
      const isLate = answer instanceof NoAnswer && answer.isTimeout;
      expect(!isLate, rule, "a poll was held on although the instance is deleted");
      if (answer instanceof Error) throw answer;
      const { status, request, what } = answer as Answer;
      if (status !== 200) expectRefusal(answer as Answer, [401, 404], rule);
      else expect(request?.status === "cancelled", rule, `${what}: it is ${request?.status}`);
    },
  ),
  scenario(
    "races.deletions",
    "Concurrent deletions all return 204",
    ["instance.delete.repeat"],
    async (kit) => {
      const instance = await kit.provision();
      const all = Array.from({ length: ROUNDS }, () => kit.deleteInstance(instance.id));
      for (const answer of await Promise.all(all)) {
        expectStatus(answer, 204, "instance.delete.repeat");
      }
    },
  ),
  scenario(
    "races.deletion-and-verdicts",
    "A deletion concurrent with verdicts leaves no working credential",
    ["instance.delete.serialised", "instance.delete.credentials-revoked"],
    async (kit) => {
      const rule = "instance.delete.serialised";
      const instance = await kit.provision();
      const requests = await Promise.all(Array.from({ length: 4 }, () => kit.submit(instance)));
      const verdicts = requests.map(({ id }) => kit.tryDecide(id, "approve").catch(() => {}));
      await kit.deleted(instance);
      await Promise.all(verdicts);
      for (const { id } of requests) {
        const read = await kit.call("getApprovalRequest", { token: instance.token, id });
        expectRefusal(read, 401, rule);
      }
    },
    { needs: ["decider"] },
  ),
];
