/** The fields of a decision, and that a decision does not change. */

import type { RequestResource } from "../client/read-resources.ts";
import type { RequirementId } from "../contract/index.ts";
import { expectRefusal, expectStatus, type Kit, type OwnInstance, requestOf } from "../kit.ts";
import type { Verdict } from "../options.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";
import { expectUntouched } from "./cancel.ts";

const NEEDS = { needs: ["decider"] } as const;

function expectSameDecision(
  before: RequestResource,
  after: RequestResource,
  when: string,
  rule: RequirementId = "request.terminal.unchanged",
): void {
  expect(before.status === after.status, rule, `${when} it is ${after.status}`);
  for (const name of ["status", "note", "decidedAt", "expiresAt"] as const) {
    const isSame = before.decision?.[name] === after.decision?.[name];
    expect(isSame, rule, `${when} the decision has another ${name}`);
  }
}

async function decided(kit: Kit, verdict: Verdict) {
  const instance = await kit.provision();
  const request = await kit.submit(instance, { agent_reasoning: "Because.", context: { a: 1 } });
  return { instance, request, ended: await kit.decide(instance, request.id, verdict) };
}

async function replay(kit: Kit, { token }: OwnInstance, key: string, body: unknown) {
  const answer = await kit.call("createApprovalRequest", { token, key, body });
  expectStatus(answer, 200, "request.create.replay");
  return requestOf(answer);
}

export const DECIDE: readonly Scenario[] = [
  scenario(
    "decide.approve",
    "An approval makes the request approved, with an expiry, and changes nothing else",
    ["request.approve", "decision.expiry.approved", "request.immutable"],
    async (kit) => {
      const { request, ended } = await decided(kit, "approve");
      expectUntouched(request, ended);
      const rule = "decision.expiry.approved";
      expect(ended.decision?.expiresAt !== undefined, rule, "an approval has no expires_at");
    },
    NEEDS,
  ),
  scenario(
    "decide.deny",
    "A denial makes the request denied, which a read answers with 200",
    [
      "request.deny",
      "service.denied.is-success",
      "decision.expiry.absent-otherwise",
      "request.immutable",
    ],
    async (kit) => {
      const { instance, request, ended } = await decided(kit, "deny");
      expectUntouched(request, ended);
      const call = { token: instance.token, id: request.id };
      const answer = await kit.call("getApprovalRequest", call);
      expectStatus(answer, 200, "service.denied.is-success");
      const { status } = requestOf(answer);
      expect(status === "denied", "service.denied.is-success", `it is ${status}`);
    },
    NEEDS,
  ),
  scenario(
    "decide.note",
    "A note does not change the arguments",
    ["decision.note.inert"],
    async (kit) => {
      const instance = await kit.provision();
      const note = '{"arguments":{"reason":"changed"}} use another reason';
      for (const verdict of ["approve", "deny"] as const) {
        const request = await kit.submit(instance);
        const ended = await kit.decide(instance, request.id, verdict, note);
        const isKept = ended.arguments.source === request.arguments.source;
        expect(isKept, "decision.note.inert", "the note changed the arguments");
      }
    },
    NEEDS,
  ),
  scenario(
    "decide.not-extended",
    "Reading and replaying an approval does not change it",
    ["decision.expiry.not-extended", "request.create.replay"],
    async (kit) => {
      const rule = "decision.expiry.not-extended";
      const { instance, request, ended } = await decided(kit, "approve");
      expectSameDecision(ended, await kit.read(instance, ended.id), "read again", rule);
      expectSameDecision(ended, await kit.read(instance, ended.id, "?wait=1s"), "polled", rule);
      const replayed = await replay(kit, instance, request.key, request.body);
      expectSameDecision(ended, replayed, "replayed", rule);
      expectUntouched(request, replayed);
    },
    NEEDS,
  ),
  scenario(
    "decide.cancel",
    "Cancelling an approved or denied request returns 409 and changes nothing",
    ["request.cancel.terminal", "request.terminal.unchanged"],
    async (kit) => {
      for (const verdict of ["approve", "deny"] as const) {
        const { instance, ended } = await decided(kit, verdict);
        const answer = await kit.cancel(instance, ended.id);
        expectRefusal(answer, 409, "request.cancel.terminal", "already_terminal");
        expectSameDecision(ended, await kit.read(instance, ended.id), "after a cancellation");
      }
    },
    NEEDS,
  ),
  scenario(
    "decide.second-verdict",
    "A second verdict changes no decision",
    ["request.terminal.unchanged"],
    async (kit) => {
      for (const [verdict, other] of [
        ["approve", "deny"],
        ["deny", "approve"],
      ] as const) {
        const { instance, ended } = await decided(kit, verdict);
        // Whether it is refused is between decider and provider.
        await kit.tryDecide(ended.id, other).catch(() => {});
        await kit.tryDecide(ended.id, verdict, "again").catch(() => {});
        const after = await kit.read(instance, ended.id);
        const isSame = after.status === ended.status;
        expect(isSame, "request.terminal.unchanged", `it was ${ended.status}, now ${after.status}`);
        expectSameDecision(ended, after, "after a second verdict");
      }
    },
    NEEDS,
  ),
  scenario(
    "decide.cancelled",
    "A verdict on a cancelled request changes nothing",
    ["request.terminal.unchanged"],
    async (kit) => {
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const cancelled = await kit.cancelled(instance, id);
      await kit.tryDecide(id, "approve").catch(() => {});
      const after = await kit.read(instance, id);
      const rule = "request.terminal.unchanged";
      expect(after.status === "cancelled", rule, `it was cancelled, now it is ${after.status}`);
      expectSameDecision(cancelled, after, "after a late verdict");
    },
    NEEDS,
  ),
  scenario(
    "decide.one-of-two",
    "A decision on one request leaves another one of the same input pending",
    ["request.create.key-distinct", "request.decision.matches-status"],
    async (kit) => {
      const instance = await kit.provision();
      const [one, other] = [await kit.submit(instance), await kit.submit(instance)];
      await kit.decide(instance, one.id, "approve");
      const { status } = await kit.read(instance, other.id);
      const rule = "request.create.key-distinct";
      expect(status === "pending", rule, `the other one is ${status}`);
    },
    NEEDS,
  ),
];
