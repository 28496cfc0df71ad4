/** POST /v1/requests: its fields, except the values of `arguments` (see arguments.ts). */

import type { Answer } from "../client/check-answer.ts";
import type { RequirementId } from "../contract/index.ts";
import { expectRefusal, expectStatus, type Kit, requestOf, SUBMISSION } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** Submissions of one new instance, each with a key of its own. */
async function submitter(kit: Kit): Promise<(body: unknown) => Promise<Answer>> {
  const { token } = await kit.provision();
  return (body) => {
    const input = body === undefined ? {} : { body };
    return kit.call("createApprovalRequest", { token, key: kit.key(), ...input });
  };
}

async function expectRefused(
  kit: Kit,
  bodies: readonly unknown[],
  rule: RequirementId,
): Promise<void> {
  const submit = await submitter(kit);
  for (const body of bodies) expectRefusal(await submit(body), 400, rule);
}

function without(field: keyof typeof SUBMISSION): object {
  return Object.fromEntries(Object.entries(SUBMISSION).filter(([name]) => name !== field));
}

export const CREATE: readonly Scenario[] = [
  scenario(
    "create.recorded",
    "A new submission is a 201 with the request as it was sent, pending",
    ["request.create", "request.as-submitted", "request.timeout.as-submitted", "request.shape"],
    async (kit) => {
      const rule = "request.as-submitted";
      const instance = await kit.provision();
      const body = { ...SUBMISSION, agent_reasoning: "Because.", context: { cwd: "/tmp" } };
      const created = await kit.submit(instance, body);
      for (const request of [created, await kit.read(instance, created.id)]) {
        expect(request.tool === body.tool, rule, "the tool is another");
        const message = `timeout is ${request.timeout}`;
        expect(request.timeout === body.timeout, "request.timeout.as-submitted", message);
        const isKept = request.agentReasoning === body.agent_reasoning;
        expect(isKept, rule, "the reasoning is another");
        const args = JSON.stringify(JSON.parse(request.arguments.source));
        expect(args === JSON.stringify(body.arguments), rule, "the arguments are others");
        const context = JSON.stringify(JSON.parse(request.context?.source ?? "null"));
        expect(context === JSON.stringify(body.context), rule, "the context is another");
      }
    },
  ),
  scenario(
    "create.optional-absent",
    "The answer omits fields that were not submitted",
    ["request.shape"],
    async (kit) => {
      const instance = await kit.provision();
      const { agentReasoning, context } = await kit.submit(instance);
      const rule = "request.shape";
      expect(agentReasoning === undefined, rule, "there is a reasoning that was not submitted");
      expect(context === undefined, rule, "there is a context that was not submitted");
    },
  ),
  scenario(
    "create.required",
    "A submission without tool, arguments or timeout is refused",
    ["request.create.required"],
    (kit) => {
      const bodies = [without("tool"), without("arguments"), without("timeout"), {}];
      return expectRefused(kit, bodies, "request.create.required");
    },
  ),
  scenario(
    "create.tool",
    "A tool name is a string of at least one character",
    ["scalar.tool.length", "request.create.types"],
    async (kit) => {
      const bodies = ["", null, 7, true, [], {}].map((tool) => ({ ...SUBMISSION, tool }));
      await expectRefused(kit, bodies, "scalar.tool.length");
      const submit = await submitter(kit);
      for (const tool of ["t", "mcp__server__tool", "Tool with spaces / ünïcödé ✓"]) {
        const answer = await submit({ ...SUBMISSION, tool });
        expectStatus(answer, 201, "scalar.tool.length");
        expect(requestOf(answer).tool === tool, "scalar.tool.length", "the tool name has changed");
      }
    },
  ),
  scenario(
    "create.arguments-object",
    "Arguments are any JSON object",
    ["scalar.arguments.object", "request.create.types"],
    async (kit) => {
      const rule = "scalar.arguments.object";
      const wrong = [null, [], "x", 7, true].map((value) => ({ ...SUBMISSION, arguments: value }));
      await expectRefused(kit, wrong, rule);
      const submit = await submitter(kit);
      expectStatus(await submit({ ...SUBMISSION, arguments: {} }), 201, rule);
    },
  ),
  scenario(
    "create.reasoning",
    "The reasoning is a string and comes back unchanged",
    ["scalar.reasoning.string", "request.create.types"],
    async (kit) => {
      const wrong = [null, 7, [], {}].map((value) => ({ ...SUBMISSION, agent_reasoning: value }));
      await expectRefused(kit, wrong, "scalar.reasoning.string");
      const submit = await submitter(kit);
      for (const text of ["", "  two\n\tlines  ", "\u202edesrever", "é is not e\u0301"]) {
        const answer = await submit({ ...SUBMISSION, agent_reasoning: text });
        expectStatus(answer, 201, "scalar.reasoning.string");
        const isKept = requestOf(answer).agentReasoning === text;
        expect(isKept, "scalar.reasoning.string", `${JSON.stringify(text)} has changed`);
      }
    },
  ),
  scenario(
    "create.context",
    "A context is a JSON object",
    ["scalar.context.object", "request.create.types"],
    (kit) => {
      const wrong = [null, 7, "x", []].map((context) => ({ ...SUBMISSION, context }));
      return expectRefused(kit, wrong, "scalar.context.object");
    },
  ),
  scenario(
    "create.durations",
    "A timeout is a positive whole number of seconds, minutes or hours, answered as it was sent",
    ["scalar.duration.accepted", "request.timeout.as-submitted"],
    async (kit) => {
      const submit = await submitter(kit);
      for (const timeout of ["10s", "90s", "5m", "60m", "1h", "24h", "100m"]) {
        const answer = await submit({ ...SUBMISSION, timeout });
        expectStatus(answer, 201, "scalar.duration.accepted");
        const shown = requestOf(answer).timeout;
        const message = `${timeout} came back as ${shown}`;
        expect(shown === timeout, "request.timeout.as-submitted", message);
      }
    },
  ),
  scenario(
    "create.no-durations",
    "Any other timeout is rejected",
    ["scalar.duration.refused", "request.create.types"],
    (kit) => {
      const numbers = ["0s", "0m", "00s", "01s", "-1s", "+1s", "1.5h", "1e3s", "1,5h", "", "s"];
      const units = ["1", "10", "1d", "1w", "1ms", "1S", "1M", "1H", "1h30m", "PT1S", "1sec"];
      const others = [" 1s", "1s ", "1 s", "1s\n", "١s", 10, null, [], {}, true];
      const bodies = [...numbers, ...units, ...others].map((timeout) => {
        return { ...SUBMISSION, timeout };
      });
      return expectRefused(kit, bodies, "scalar.duration.refused");
    },
  ),
  scenario(
    "create.unknown-property",
    "A submission with an unknown property, a delivery among them, is refused",
    ["request.create.additional-properties", "request.create.no-delivery"],
    async (kit) => {
      const added = [
        { status: "approved" },
        { id: kit.key() },
        { Tool: "x" },
        { args: {} },
        { "": 1 },
        { instance_id: kit.key() },
      ];
      const bodies = added.map((fields) => ({ ...SUBMISSION, ...fields }));
      await expectRefused(kit, bodies, "request.create.additional-properties");
      const deliveries = [{ type: "webhook" }, null].map((delivery) => {
        return { ...SUBMISSION, delivery };
      });
      await expectRefused(kit, deliveries, "request.create.no-delivery");
    },
  ),
  scenario(
    "create.body",
    "A submission without a body, or with a body that is not a JSON object, is rejected",
    ["request.create.body-object"],
    (kit) => {
      const bodies = [undefined, "", "[]", "null", '"x"', "7", "true", "[{}]"];
      return expectRefused(kit, bodies, "request.create.body-object");
    },
  ),
  scenario(
    "create.key-required",
    "A submission without a key, or with an empty one, is refused",
    ["request.create.key-required"],
    async (kit) => {
      const rule = "request.create.key-required";
      const { token } = await kit.provision();
      const call = { token, body: SUBMISSION };
      expectRefusal(await kit.call("createApprovalRequest", call), 400, rule);
      expectRefusal(await kit.call("createApprovalRequest", { ...call, key: "" }), 400, rule);
    },
  ),
];
