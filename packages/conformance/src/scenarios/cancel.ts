/** DELETE /v1/requests/{id}. */

import { randomUUID } from "node:crypto";
import type { RequestResource } from "../client/read-resources.ts";
import { expectRefusal, expectStatus, requestOf } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** Checks that a decision did not change the submitted fields. */
export function expectUntouched(before: RequestResource, after: RequestResource): void {
  const rule = "request.immutable";
  const texts = ["id", "tool", "timeout", "agentReasoning", "createdAt", "deadlineAt"] as const;
  for (const name of texts) expect(before[name] === after[name], rule, `${name} has changed`);
  for (const name of ["arguments", "context"] as const) {
    expect(before[name]?.source === after[name]?.source, rule, `${name} has changed`);
  }
}

export const CANCEL: readonly Scenario[] = [
  scenario(
    "cancel.pending",
    "Cancelling a pending request is a 200 with the request, now cancelled",
    ["request.cancel.pending", "request.immutable"],
    async (kit) => {
      const instance = await kit.provision();
      const context = { cwd: "/tmp" };
      const before = await kit.submit(instance, { agent_reasoning: "Because.", context });
      const cancelled = await kit.cancelled(instance, before.id);
      expectUntouched(before, cancelled);
      const read = await kit.read(instance, before.id);
      const rule = "request.cancel.pending";
      expect(read.status === "cancelled", rule, `cancelled, it reads ${read.status}`);
      const isSame = read.decision?.decidedAt === cancelled.decision?.decidedAt;
      expect(isSame, "request.terminal.unchanged", "the read shows another decision");
      expectUntouched(before, read);
    },
  ),
  scenario(
    "cancel.repeat",
    "Cancelling it again is a 200 with the same cancelled request",
    ["request.cancel.repeat", "request.terminal.unchanged"],
    async (kit) => {
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const first = await kit.cancelled(instance, id);
      for (let times = 0; times < 2; times++) {
        const answer = await kit.cancel(instance, id);
        expectStatus(answer, 200, "request.cancel.repeat");
        const { status, decision } = requestOf(answer);
        expect(status === "cancelled", "request.cancel.repeat", `it is ${status}`);
        const isSame = decision?.decidedAt === first.decision?.decidedAt;
        expect(isSame, "request.terminal.unchanged", "cancelling again changed the decision");
      }
    },
  ),
  scenario(
    "cancel.unknown",
    "Cancelling an unknown request returns 404",
    ["request.cancel.unknown"],
    async (kit) => {
      const instance = await kit.provision();
      expectRefusal(await kit.cancel(instance, randomUUID()), 404, "request.cancel.unknown");
    },
  ),
];
