import assert from "node:assert/strict";
import { test } from "node:test";
import { policySaying, publish, startPolicyScene } from "./support/publishing.ts";
import { restart } from "./support/scene.ts";

/** It takes seconds to read, and is not a valid policy in the end. */
const HOSTILE = `version: 1\nrules: [${"[],".repeat(80_000)}]\n`;

/** As slow to read, and a policy. */
const LARGE = `version: 1
rules:
  - { id: all, match: { tool: [${"a,".repeat(100_000)}deploy] }, then: approve }
tests:
  - { given: { tool: deploy }, expect: { then: approve } }
`;

/** Says what has ended, in the order in which it did. */
class Ends {
  readonly names: string[] = [];

  watch<T>(name: string, work: Promise<T>): Promise<T> {
    return work.finally(() => this.names.push(name));
  }
}

test("[ours.policy.examined.aside] the server answers other exchanges while it examines a draft from any operation", async (t) => {
  const { server, editor, instance } = await startPolicyScene(t);
  await publish(server, editor, policySaying("approve", "deploy"), 0);
  const body = { source: HOSTILE };
  const ways: readonly [string, object][] = [
    ["/review/v1/policy/check", body],
    ["/review/v1/policy", { ...body, expected_number: 1 }],
    ["/review/v1/policy/simulate", body],
  ];
  for (const [path, body] of ways) {
    const ends = new Ends();
    const examined = ends.watch("draft", server.call("POST", path, { token: editor, body }));
    for (let call = 0; call < 5; call++) {
      const { status } = await ends.watch("call", server.submit(instance.token));
      assert.equal(status, "approved");
    }
    await examined;
    assert.deepEqual(ends.names, ["call", "call", "call", "call", "call", "draft"], path);
  }
});

test("[ours.policy.examined.aside] after a start, the server answers other exchanges while it reads the active policy, and decides no call without it", async (t) => {
  const scene = await startPolicyScene(t);
  const published = await publish(scene.server, scene.editor, LARGE, 0);
  assert.equal(published.status, 201, published.text);
  assert.equal((await scene.server.submit(scene.instance.token)).status, "approved");
  const { server, reviewer, instance } = await restart(t, scene);
  // Those of the instance and of the call above.
  for (let used = 0; used < 2; used++) server.freshKey();
  const ends = new Ends();
  const calls = [1, 2, 3].map(() => ends.watch("call", server.submit(instance.token)));
  for (let read = 0; read < 5; read++) {
    const list = server.call("GET", "/review/v1/requests", { token: reviewer });
    assert.equal((await ends.watch("list", list)).status, 200);
  }
  for (const { status } of await Promise.all(calls)) assert.equal(status, "approved");
  assert.deepEqual(ends.names.slice(0, 5), ["list", "list", "list", "list", "list"]);
});
