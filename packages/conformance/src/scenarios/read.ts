/** GET /v1/requests/{id}, with and without a wait. */

import { randomUUID } from "node:crypto";
import { pause } from "../clock.ts";
import { answeredInTime, expectRefusal, expectStatus } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** A wait of two seconds is held for at least this long, on whatever clock. */
const HELD_MS_MIN = 1_000;

/** Time for a poll to be held before something happens to its request. */
const SETTLE_MS = 300;

const CAP_MS = 30_000;

export const READ: readonly Scenario[] = [
  scenario(
    "read.current",
    "A read answers the request as it is now",
    ["request.read"],
    async (kit) => {
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const before = await kit.read(instance, id);
      expect(before.id === id, "request.read", "it is another request");
      expect(before.status === "pending", "request.read", `it is ${before.status}`);
      await kit.cancelled(instance, id);
      const after = await kit.read(instance, id);
      expect(after.status === "cancelled", "request.read", `cancelled, it reads ${after.status}`);
    },
  ),
  scenario(
    "read.unknown",
    "Reading an unknown request returns 404",
    ["request.read.unknown"],
    async (kit) => {
      const { token } = await kit.provision();
      for (const query of ["", "?wait=1s"]) {
        const call = { token, id: randomUUID(), query };
        const answer = await kit.call("getApprovalRequest", call);
        expectRefusal(answer, 404, "request.read.unknown");
      }
    },
  ),
  scenario(
    "read.no-wait",
    "Without a wait a read of a pending request answers at once",
    ["request.read.wait.omitted"],
    async (kit) => {
      const rule = "request.read.wait.omitted";
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const request = await answeredInTime(kit.read(instance, id), rule, "without wait");
      expect(request.status === "pending", rule, `it is ${request.status}`);
    },
  ),
  scenario(
    "read.wait",
    "With a wait the read is held, and answers that the request is still pending",
    [
      "request.read.wait.held",
      "request.read.wait.still-pending",
      "request.read.wait.keeps-deadline",
    ],
    async (kit) => {
      const rule = "request.read.wait.held";
      const instance = await kit.provision();
      const { id, deadlineAt } = await kit.submit(instance);
      const begun = performance.now();
      const boundMs = 2_000 + kit.timing.patienceMs;
      const poll = kit.read(instance, id, "?wait=2s", boundMs);
      const request = await answeredInTime(poll, rule, "a wait of 2s");
      const heldMs = performance.now() - begun;
      expect(heldMs >= HELD_MS_MIN, rule, `a wait of 2s was held for ${Math.round(heldMs)} ms`);
      expect(
        request.status === "pending",
        "request.read.wait.still-pending",
        `it is ${request.status}`,
      );
      const isSame = request.deadlineAt === deadlineAt;
      expect(isSame, "request.read.wait.keeps-deadline", "polling moved the deadline");
    },
  ),
  scenario(
    "read.wait-invalid",
    "A wait that is not a duration is rejected",
    ["request.read.wait.invalid"],
    async (kit) => {
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      for (const wait of ["", "0s", "5", "-1s", "1.5s", "1S", "soon", "1ms", "05s"]) {
        const call = { token: instance.token, id, query: `?wait=${wait}` };
        const answer = await kit.call("getApprovalRequest", call);
        expectRefusal(answer, 400, "request.read.wait.invalid");
      }
    },
  ),
  scenario(
    "read.wait-terminal",
    "A wait on a terminal request answers at once",
    ["request.read.wait.terminal"],
    async (kit) => {
      const rule = "request.read.wait.terminal";
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      await kit.cancelled(instance, id);
      const { patienceMs } = kit.timing;
      const poll = kit.read(instance, id, "?wait=30s", patienceMs);
      const request = await answeredInTime(poll, rule, "a wait on a terminal request");
      expect(request.status === "cancelled", rule, `it is ${request.status}`);
    },
  ),
  scenario(
    "read.wait-cancelled",
    "Cancelling a request ends all polls that are held on it",
    ["request.read.wait.cancelled", "request.read.wait.terminal"],
    async (kit) => {
      const rule = "request.read.wait.cancelled";
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      // Also one that asks for longer than is given.
      const boundMs = SETTLE_MS + kit.timing.patienceMs;
      const polls = ["?wait=30s", "?wait=30s", "?wait=1h"].map((query) => {
        return answeredInTime(kit.read(instance, id, query, boundMs), rule, "held, then cancelled");
      });
      const all = Promise.all(polls);
      // The slower one is awaited below.
      all.catch(() => {});
      await pause(SETTLE_MS, kit.signal);
      await kit.cancelled(instance, id);
      for (const request of await all) {
        expect(request.status === "cancelled", rule, `a held poll answered ${request.status}`);
      }
    },
  ),
  scenario(
    "read.wait-decided",
    "A decision ends the polls that are held on its request",
    ["request.read.wait.terminal"],
    async (kit) => {
      const rule = "request.read.wait.terminal";
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const boundMs = SETTLE_MS + 2 * kit.timing.patienceMs;
      const longPoll = kit.read(instance, id, "?wait=30s", boundMs);
      const poll = answeredInTime(longPoll, rule, "held, then decided");
      poll.catch(() => {});
      await pause(SETTLE_MS, kit.signal);
      await kit.decide(instance, id, "deny");
      const { status } = await poll;
      expect(status === "denied", rule, `a held poll answered ${status}`);
    },
    { needs: ["decider"] },
  ),
  scenario(
    "read.wait-cap",
    "A wait of an hour is held for 30 seconds at most",
    ["request.read.wait.cap"],
    async (kit) => {
      const rule = "request.read.wait.cap";
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const call = { token: instance.token, id, query: "?wait=1h" };
      const boundMs = CAP_MS + kit.timing.patienceMs;
      const poll = kit.call("getApprovalRequest", { ...call, boundMs });
      const answer = await answeredInTime(poll, rule, "a wait of an hour");
      expectStatus(answer, 200, rule);
      const status = answer.request?.status;
      expect(status === "pending", rule, `it is ${status}`);
    },
    { isSlow: true },
  ),
];
