/**
 * Stories of the Python package where the operator admits what it sends beyond the contract:
 * its gates run approved calls, once.
 */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { runAgent } from "./guide.ts";
import { early, faultOf, type Guarded, type PythonScene, type Shown } from "./python-stories.ts";
import type { Story } from "./story.ts";

const ATTEMPTED = /was already attempted, so it was not run again/;

/** Both gates of the package, by the acts that use them. */
const GATES = { Gate: "guard", AsyncGate: "guard_async" } as const;

const GATED: readonly Story<PythonScene>[] = Object.entries(GATES).flatMap(([name, act]) => [
  {
    title: `${name}: a reviewer approves, the call runs, and the same call again does not`,
    async play({ stage, client, token }: PythonScene) {
      const call = { token, key: `once-${act}`, tool: `interop.${act}` };
      const guarded = client.act<Guarded>(act, call);
      const { id } = await Promise.race([stage.pending(call.tool), early(guarded)]);
      await stage.decide(id, "approve");
      const { verdict, ran, request_id } = await guarded;
      assert.deepEqual([verdict, ran, request_id], ["allow", true, id]);
      const shown = await stage.read(id);
      assert.equal(shown.status, "approved");
      assert.equal(shown.consumption?.outcome?.status, "succeeded");
      const again = await client.act<Guarded>(act, call);
      assert.deepEqual([again.status, again.ran, again.request_id], ["consumed", false, id]);
      assert.match(again.reason ?? "", ATTEMPTED);
    },
  },
  {
    title: `${name}: of five that want the same approved call at one time, one runs it`,
    async play({ client, token }: PythonScene) {
      const call = { token, key: `raced-${act}`, tool: "Read" };
      const all = Array.from({ length: 5 }, () => client.act<Guarded>(act, call));
      const guarded = await Promise.all(all);
      assert.equal(new Set(guarded.map(({ request_id }) => request_id)).size, 1);
      assert.equal(guarded.filter(({ ran }) => ran).length, 1);
      const others = guarded.filter(({ ran }) => !ran).map(({ status }) => status);
      assert.deepEqual(new Set(others), new Set(["consumed"]));
    },
  },
  {
    title: `${name}: a call that breaks is reported as failed`,
    async play({ stage, client, token }: PythonScene) {
      const call = { token, key: `broke-${act}`, tool: "Read", breaks: true };
      const { ran, request_id } = await client.act<Guarded>(act, call);
      assert.equal(ran, true);
      const { consumption } = await stage.read(request_id ?? "");
      assert.equal(consumption?.outcome?.status, "failed");
    },
  },
]);

const CLIENT: readonly Story<PythonScene>[] = [
  {
    title: "after a lost response a client consumes again with its key, and another key is refused",
    async play({ client, token }) {
      const { id } = await client.act<Shown>("create", { token, key: "lost", tool: "Read" });
      const consume = (key: string) => client.act<Shown>("consume", { token, request_id: id, key });
      assert.equal((await consume("one")).consumed, true);
      assert.equal((await consume("one")).consumed, true);
      await assert.rejects(consume("other"), faultOf("ConflictError", "already_consumed"));
      const read = await client.act<Shown>("get", { token, request_id: id });
      assert.deepEqual([read.consumed, read.outcome], [true, null]);
    },
  },
  {
    title: "pending and denied requests and expired approvals are not consumed",
    async play({ stage, client, token }) {
      const create = (key: string, tool: string) =>
        client.act<Shown>("create", { token, key, tool });
      const consume = (request_id: string) =>
        client.act("consume", { token, request_id, key: "late" });
      const refused = faultOf("ConflictError", "not_approved");
      const { id } = await create("waits", "interop.waits");
      await assert.rejects(consume(id), refused);
      await stage.decide(id, "deny");
      await assert.rejects(consume(id), refused);
      const brief = await create("brief", "Brief");
      await sleep((brief.may_start_ms ?? 0) + 1);
      const expired = faultOf("ConflictError", "approval_expired");
      await assert.rejects(consume(brief.id), expired);
    },
  },
  {
    title: "the outcome of a call is reported once, with the agent's words",
    async play({ client, token }) {
      const { id: request_id } = await client.act<Shown>("create", {
        token,
        key: "report",
        tool: "Read",
      });
      const report = (status: string, note?: string) =>
        client.act<Shown>("report", { token, request_id, status, ...(note && { note }) });
      await assert.rejects(report("succeeded"), faultOf("ConflictError", "not_consumed"));
      await client.act("consume", { token, request_id, key: "one" });
      const note = "paid before\n🚀 </script>";
      assert.deepEqual((await report("failed", note)).outcome, ["failed", note]);
      assert.deepEqual((await report("failed", note)).outcome, ["failed", note]);
      await assert.rejects(report("succeeded"), faultOf("ConflictError", "outcome_conflict"));
    },
  },
];

const GUIDE: Story<PythonScene> = {
  title: "the agent of the guide pays once an approval is there, and not again",
  async play({ stage, token, program }) {
    const env = { COUNTERSIGN_URL: stage.url, COUNTERSIGN_API_KEY: token };
    const running = runAgent(program, ["call-1"], env);
    const ended = running.then((printed): never => {
      throw new Error(`it did not wait: ${printed}`);
    });
    const { id } = await Promise.race([stage.pending("refunds.create"), ended]);
    ended.catch(() => {});
    await stage.decide(id, "approve");
    assert.equal(await running, "1250 back for A-17");
    assert.match(await runAgent(program, ["call-1"], env), ATTEMPTED);
    assert.equal((await stage.read(id)).consumption?.outcome?.status, "succeeded");
  },
};

export const PYTHON_EXTENDED: readonly Story<PythonScene>[] = [...GATED, ...CLIENT, GUIDE];
