/** POST /v1/requests: its fields. What its arguments are is in arguments.ts. */

import type { Answer } from "../client/check-answer.ts";
import { expectRefusal, expectStatus, type Kit, requestOf, SUBMISSION } from "../kit.ts";
import type { RequirementId } from "../requirements/index.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** Submissions of one new instance, each with a key of its own. */
async function submitter(kit: Kit): Promise<(body: unknown) => Promise<Answer>> {
  const { token } = await kit.provision();
  return (body) => {
    const given = body === undefined ? {} : { body };
    return kit.call("createApprovalRequest", { token, key: kit.key(), ...given });
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
    ["endpoints.create", "resources.request.as-submitted", "resources.request.shape"],
    async (kit) => {
      const rule = "resources.request.as-submitted";
      const instance = await kit.provision();
      const body = { ...SUBMISSION, agent_reasoning: "Because.", context: { cwd: "/tmp" } };
      const created = await kit.submit(instance, body);
      for (const request of [created, await kit.read(instance, created.id)]) {
        expect(request.tool === body.tool, rule, "the tool is another");
        expect(request.timeout === body.timeout, rule, `timeout is ${request.timeout}`);
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
    "What was not submitted is absent in the answer",
    ["resources.request.shape"],
    async (kit) => {
      const instance = await kit.provision();
      const { agentReasoning, context } = await kit.submit(instance);
      const rule = "resources.request.shape";
      expect(agentReasoning === undefined, rule, "there is a reasoning that nobody gave");
      expect(context === undefined, rule, "there is a context that nobody gave");
    },
  ),
  scenario(
    "create.required",
    "A submission without tool, arguments or timeout is refused",
    ["resources.create.required"],
    (kit) => {
      const bodies = [without("tool"), without("arguments"), without("timeout"), {}];
      return expectRefused(kit, bodies, "resources.create.required");
    },
  ),
  scenario(
    "create.tool",
    "A tool name is a string of at least one character",
    ["resources.tool", "resources.create.types"],
    async (kit) => {
      const bodies = ["", null, 7, true, [], {}].map((tool) => ({ ...SUBMISSION, tool }));
      await expectRefused(kit, bodies, "resources.tool");
      const submit = await submitter(kit);
      for (const tool of ["t", "mcp__server__tool", "Tool with spaces / ünïcödé ✓"]) {
        const answer = await submit({ ...SUBMISSION, tool });
        expectStatus(answer, 201, "resources.tool");
        expect(requestOf(answer).tool === tool, "resources.tool", "the tool name has changed");
      }
    },
  ),
  scenario(
    "create.arguments-object",
    "Arguments are a JSON object, and any object will do",
    ["resources.arguments.object", "resources.create.types"],
    async (kit) => {
      const rule = "resources.arguments.object";
      const wrong = [null, [], "x", 7, true].map((value) => ({ ...SUBMISSION, arguments: value }));
      await expectRefused(kit, wrong, rule);
      const submit = await submitter(kit);
      expectStatus(await submit({ ...SUBMISSION, arguments: {} }), 201, rule);
    },
  ),
  scenario(
    "create.reasoning",
    "The reasoning is a string, kept as it is",
    ["resources.reasoning", "resources.create.types"],
    async (kit) => {
      const wrong = [null, 7, [], {}].map((value) => ({ ...SUBMISSION, agent_reasoning: value }));
      await expectRefused(kit, wrong, "resources.reasoning");
      const submit = await submitter(kit);
      for (const text of ["", "  two\n\tlines  ", "\u202edesrever", "é is not e\u0301"]) {
        const answer = await submit({ ...SUBMISSION, agent_reasoning: text });
        expectStatus(answer, 201, "resources.reasoning");
        const isKept = requestOf(answer).agentReasoning === text;
        expect(isKept, "resources.reasoning", `${JSON.stringify(text)} has changed`);
      }
    },
  ),
  scenario(
    "create.context",
    "A context is a JSON object",
    ["resources.context.object", "resources.create.types"],
    (kit) => {
      const wrong = [null, 7, "x", []].map((context) => ({ ...SUBMISSION, context }));
      return expectRefused(kit, wrong, "resources.context.object");
    },
  ),
  scenario(
    "create.durations",
    "A timeout is a positive whole number of seconds, minutes or hours, answered as it was sent",
    ["resources.duration.accepted", "resources.request.as-submitted"],
    async (kit) => {
      const submit = await submitter(kit);
      for (const timeout of ["10s", "90s", "5m", "60m", "1h", "24h", "100m"]) {
        const answer = await submit({ ...SUBMISSION, timeout });
        expectStatus(answer, 201, "resources.duration.accepted");
        const shown = requestOf(answer).timeout;
        const message = `${timeout} came back as ${shown}`;
        expect(shown === timeout, "resources.request.as-submitted", message);
      }
    },
  ),
  scenario(
    "create.no-durations",
    "Anything else is no duration",
    ["resources.duration.refused", "resources.create.types"],
    (kit) => {
      const numbers = ["0s", "0m", "00s", "01s", "-1s", "+1s", "1.5h", "1e3s", "1,5h", "", "s"];
      const units = ["1", "10", "1d", "1w", "1ms", "1S", "1M", "1H", "1h30m", "PT1S", "1sec"];
      const others = [" 1s", "1s ", "1 s", "1s\n", "١s", 10, null, [], {}, true];
      const bodies = [...numbers, ...units, ...others].map((timeout) => {
        return { ...SUBMISSION, timeout };
      });
      return expectRefused(kit, bodies, "resources.duration.refused");
    },
  ),
  scenario(
    "create.unknown-property",
    "A submission with an unknown property, a delivery among them, is refused",
    ["resources.create.additional"],
    async (kit) => {
      const strangers = [
        { status: "approved" },
        { id: kit.key() },
        { Tool: "x" },
        { args: {} },
        { "": 1 },
        { delivery: { type: "webhook" } },
        { delivery: null },
        { instance_id: kit.key() },
      ];
      const bodies = strangers.map((stranger) => ({ ...SUBMISSION, ...stranger }));
      await expectRefused(kit, bodies, "resources.create.additional");
    },
  ),
  scenario(
    "create.body",
    "A submission whose body is missing or no JSON object is refused",
    ["resources.create.body"],
    (kit) => {
      const bodies = [undefined, "", "[]", "null", '"x"', "7", "true", "[{}]"];
      return expectRefused(kit, bodies, "resources.create.body");
    },
  ),
  scenario(
    "create.key-required",
    "A submission without a key, or with an empty one, is refused",
    ["endpoints.create.key-required"],
    async (kit) => {
      const rule = "endpoints.create.key-required";
      const { token } = await kit.provision();
      const call = { token, body: SUBMISSION };
      expectRefusal(await kit.call("createApprovalRequest", call), 400, rule);
      expectRefusal(await kit.call("createApprovalRequest", { ...call, key: "" }), 400, rule);
    },
  ),
];
