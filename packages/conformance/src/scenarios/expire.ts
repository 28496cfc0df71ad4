/** Requests without a decision in time. */

import { parseTimestamp } from "@countersign/protocol";
import { isLater } from "../client/read-resources.ts";
import { pause } from "../clock.ts";
import { answeredInTime, expectRefusal, expectStatus, requestOf } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";
import { expectUntouched } from "./cancel.ts";

export const EXPIRE: readonly Scenario[] = [
  scenario(
    "expire.deadline",
    "An undecided request expires at its deadline, not before, and stays expired",
    [
      "request.expire",
      "request.expire.not-early",
      "request.immutable",
      "request.terminal.unchanged",
    ],
    async (kit) => {
      const rule = "request.expire";
      const instance = await kit.provision();
      const { request, windowMs } = await kit.submitBrief(instance);
      await pause(windowMs, kit.signal);
      const ended = await kit.untilTerminal(instance, request.id, kit.timing.patienceMs, rule);
      expect(ended.status === "expired", rule, `past its deadline it is ${ended.status}`);
      const { decidedAt = "" } = ended.decision ?? {};
      const isEarly = isLater(request.deadlineAt, decidedAt);
      const message = `decided at ${decidedAt}, before the deadline ${request.deadlineAt}`;
      expect(!isEarly, "request.expire.not-early", message);
      expectUntouched(request, ended);
      const again = await kit.read(instance, request.id);
      const isSame = again.status === "expired" && again.decision?.decidedAt === decidedAt;
      expect(isSame, "request.terminal.unchanged", "a later read shows another decision");
    },
    { isSlow: true },
  ),
  scenario(
    "expire.held-poll",
    "The end of the window ends the polls that are held",
    ["request.read.wait.terminal", "request.read.wait.keeps-deadline"],
    async (kit) => {
      const rule = "request.read.wait.terminal";
      const instance = await kit.provision();
      const { request, windowMs } = await kit.submitBrief(instance);
      const boundMs = windowMs + kit.timing.patienceMs;
      const longPoll = kit.read(instance, request.id, "?wait=30s", boundMs);
      const { status, deadlineAt } = await answeredInTime(longPoll, rule, "held over the deadline");
      expect(status === "expired", rule, `a poll that was held over the deadline says ${status}`);
      const isSame = deadlineAt === request.deadlineAt;
      expect(isSame, "request.read.wait.keeps-deadline", "polling moved the deadline");
    },
    { isSlow: true },
  ),
  scenario(
    "expire.cancel",
    "Cancelling an expired request is a 409 and changes nothing",
    ["request.cancel.terminal", "request.terminal.unchanged"],
    async (kit) => {
      const instance = await kit.provision();
      const { request, windowMs } = await kit.submitBrief(instance);
      const { id } = request;
      await pause(windowMs, kit.signal);
      const rule = "request.expire";
      const ended = await kit.untilTerminal(instance, id, kit.timing.patienceMs, rule);
      const answer = await kit.cancel(instance, id);
      expectRefusal(answer, 409, "request.cancel.terminal", "already_terminal");
      const read = await kit.read(instance, id);
      const isSame = read.decision?.decidedAt === ended.decision?.decidedAt;
      const isKept = read.status === "expired" && isSame;
      expect(isKept, "request.terminal.unchanged", `after the refusal it is ${read.status}`);
    },
    { isSlow: true },
  ),
  scenario(
    "expire.replay",
    "A replay past the deadline answers the expired request, and starts no new window",
    ["request.create.replay", "request.expire"],
    async (kit) => {
      const rule = "request.create.replay";
      const instance = await kit.provision();
      const { request, windowMs } = await kit.submitBrief(instance);
      const { id, key, body } = request;
      await pause(windowMs, kit.signal);
      await kit.untilTerminal(instance, id, kit.timing.patienceMs, "request.expire");
      const answer = await kit.call("createApprovalRequest", { token: instance.token, key, body });
      expectStatus(answer, 200, rule);
      const replayed = requestOf(answer);
      expect(replayed.id === id && replayed.status === "expired", rule, `it is ${replayed.status}`);
      const isSame = parseTimestamp(replayed.deadlineAt) === parseTimestamp(request.deadlineAt);
      expect(isSame, rule, "the replay moved the deadline");
    },
    { isSlow: true },
  ),
  scenario(
    "expire.late-verdict",
    "A verdict past the deadline decides nothing",
    ["request.expire.no-late-approval", "request.terminal.unchanged"],
    async (kit) => {
      const instance = await kit.provision();
      const { request, windowMs } = await kit.submitBrief(instance);
      await pause(windowMs, kit.signal);
      // Whether the verdict is refused is between decider and provider.
      await kit.tryDecide(request.id, "approve").catch(() => {});
      const rule = "request.expire.no-late-approval";
      const read = await kit.untilTerminal(instance, request.id, kit.timing.patienceMs, rule);
      expect(read.status === "expired", rule, `a verdict past the deadline made it ${read.status}`);
    },
    { needs: ["decider"], isSlow: true },
  ),
];
