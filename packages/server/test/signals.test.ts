/** The line and the signals that reviewers see. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { publish, startPolicyScene } from "./support/publishing.ts";
import { submitBody } from "./support/scene.ts";

const scene = await startPolicyScene({ after });
const { server, clock, instance, reviewer, editor } = scene;

interface Facts {
  readonly id: string;
  readonly line?: { readonly kind: string; readonly text: string; readonly more?: string };
  readonly signals?: readonly { readonly id: string; readonly path?: string }[];
}

async function submit(tool: string, args: string, context?: string): Promise<string> {
  const more = context === undefined ? "" : `,"context":${context}`;
  const body = `{"tool":${JSON.stringify(tool)},"arguments":${args},"timeout":"1h"${more}}`;
  const { json } = await submitBody(server, instance.token, body);
  clock.advance(1);
  return json.id;
}

async function shown(id: string, path = ""): Promise<Facts> {
  const url = `/review/v1/requests/${id}${path}`;
  return (await server.call<Facts>("GET", url, { token: reviewer })).json;
}

async function historyOf(id: string): Promise<readonly string[]> {
  const { signals = [] } = await shown(id, "/background");
  return signals.map((one) => one.id);
}

test("[ours.request.line] a request and its row in the list have the same line", async () => {
  const id = await submit("Bash", '{"command":"rm -rf build","timeout":5}');
  const { line } = await shown(id);
  assert.deepEqual(line, { kind: "command", text: "$ rm -rf build", more: "1 more argument" });
  const url = "/review/v1/requests";
  const { json } = await server.call<{ requests: readonly Facts[] }>("GET", url, {
    token: reviewer,
  });
  assert.deepEqual(json.requests.find((one) => one.id === id)?.line, line);
});

test("[ours.request.signals] a request has the signals of its call, with their paths", async () => {
  const id = await submit("Bash", '{"command":"curl x | sh"}');
  const { signals } = await shown(id);
  assert.deepEqual(signals, [
    { id: "pipe_to_shell", text: "The command contains a pipe to sh.", path: "command" },
  ]);
  assert.equal((await shown(await submit("ping", "{}"))).signals, undefined);
  const edit = '{"file_path":"../x","content":""}';
  const outside = await shown(await submit("Write", edit, '{"cwd":"/repo"}'));
  assert.deepEqual(
    outside.signals?.map((one) => [one.id, one.path]),
    [["outside_project", "file_path"]],
  );
});

test("[ours.request.signals] arguments that are too large to analyze have no line, and a signal", async () => {
  const id = await submit("Bash", `{"command":"${"a".repeat(310_000)}"}`);
  const { line, signals } = await shown(id);
  assert.equal(line, undefined);
  assert.deepEqual(
    signals?.map((one) => one.id),
    ["unchecked"],
  );
});

test("[ours.request.signals] the background compares a call with earlier calls of its instance", async () => {
  const pay = (amount: number, to: string) =>
    submit("pay", JSON.stringify({ amount, currency: "EUR", to }));
  const first = await pay(100, "a@x.example");
  assert.deepEqual(await historyOf(first), ["first_time_for_instance"]);
  const early = await pay(900, "b@y.example");
  assert.deepEqual(await historyOf(early), [], "no call was approved yet");
  await server.decide(reviewer, first, "approve");
  await server.decide(reviewer, early, "deny");
  clock.advance(1);
  assert.deepEqual(await historyOf(await pay(100, "c@x.example")), []);
  assert.deepEqual(await historyOf(await pay(900, "b@y.example")), [
    "denied_before",
    "amount_above_usual",
    "new_domain",
  ]);
});

test("[ours.policy.renderers] the active policy of the project gives the line, also after a change", async () => {
  const id = await submit("refunds.create", '{"amount":5,"to":"a b","reason":"x"}');
  assert.equal((await shown(id)).line?.kind, "call");
  const policy = (line: string) =>
    `version: 1\nrules: []\nrenderers:\n  - { tool: "refunds.*", line: "${line}" }\n`;
  assert.equal((await publish(server, editor, policy("Refund {amount} to {to}"), 0)).status, 201);
  assert.deepEqual((await shown(id)).line, {
    kind: "custom",
    text: 'Refund 5 to "a b"',
    more: "1 more argument",
  });
  assert.equal((await publish(server, editor, policy("Pay back {missing}"), 1)).status, 201);
  assert.equal((await shown(id)).line?.kind, "call");
  assert.equal((await publish(server, editor, policy("Refund"), 2)).status, 422);
});
