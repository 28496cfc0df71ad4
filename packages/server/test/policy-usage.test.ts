import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyUsage } from "@countersign/review-api";
import { publish, setGroups } from "./support/publishing.ts";
import { startScene } from "./support/scene.ts";

const POLICY = `version: 1
rules:
  - { id: reads, match: { tool: "*" }, when: 'tool == "read"', then: approve }
  - { id: prod, match: { tool: "*" }, when: 'has(args.env) && args.env == "prod"', then: ask }
`;

async function usageOf({ server }: Awaited<ReturnType<typeof startScene>>, token: string) {
  const answer = await server.call<PolicyUsage>("GET", "/review/v1/policy/usage", { token });
  assert.equal(answer.status, 200);
  return answer.json;
}

test("the usage of a policy counts the calls that each rule matched and decided", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const editor = await server.token({ kind: "reviewer", name: "ed", role: "editor" });
  assert.equal((await publish(server, editor, POLICY, 0)).status, 201);
  const calls = [
    { tool: "read", arguments: {} },
    { tool: "read", arguments: { env: "prod" } },
    { tool: "write", arguments: { env: "test" } },
  ];
  for (const call of calls) await server.submit(instance.token, call);
  const usage = await usageOf(scene, editor);
  assert.equal(usage.calls, 3);
  assert.equal(usage.limited, false);
  assert.deepEqual(usage.rules, [
    { id: "reads", fired: 2, decided: 1 },
    { id: "prod", fired: 1, decided: 1 },
  ]);
});

test("the usage of a policy lists names of tools, members and groups, and no values", async (t) => {
  const scene = await startScene(t);
  const { server, instance, reviewer } = scene;
  await setGroups(server, "instance", ["bots"]);
  const arguments_ = { to: "secret-value", customer: { id: "secret-value" }, rows: [{ a: 1 }] };
  await server.submit(instance.token, { tool: "send", arguments: arguments_ });
  await server.submit(instance.token, { tool: "large", arguments: { text: "x".repeat(9_000) } });
  const usage = await usageOf(scene, reviewer);
  assert.deepEqual(
    usage.tools.find(({ tool }) => tool === "send"),
    {
      tool: "send",
      calls: 1,
      fields: [["to"], ["customer"], ["customer", "id"], ["rows"]],
    },
  );
  assert.deepEqual(usage.tools.find(({ tool }) => tool === "large")?.fields, []);
  assert.deepEqual(usage.instance_groups, ["bots"]);
  assert.equal(usage.instances.length, 1);
  assert.ok(!JSON.stringify(usage).includes("secret-value"));
});
