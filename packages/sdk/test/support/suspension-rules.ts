/**
 * The rules for frameworks that can suspend a run: see `framework-rules.ts`.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Countersign } from "@countersign/sdk";
import { Child } from "@countersign/testing/child";
import type { Framework, Mode, Results, Suspension, Turn } from "./framework-description.ts";
import {
  approvalsOf,
  CALL,
  decideAll,
  modesOf,
  neverPays,
  payments,
  ruleOfLimit,
  SECOND,
  sharedScene,
} from "./framework-scene.ts";
import type { ResumeOrder, ResumeReport } from "./resume-agent.ts";

export function rulesOfSuspension(framework: Framework, suspension: Suspension): void {
  const { name } = framework;
  for (const mode of modesOf(framework)) {
    test(`[ours.sdk.frameworks.suspend] [ours.sdk.frameworks.once] ${name}, ${mode}: a second process resumes a suspended call, which runs exactly once`, async (t) => {
      const scene = await sharedScene();
      const runId = `suspended/${mode}`;
      const { url, token: apiKey } = scene;
      const approvals = new Countersign({
        url,
        apiKey,
        wait: false,
        timeout: "1m",
        logger: false,
      });
      const calls = [CALL];
      const turn = { approvals, runId, calls, pay: neverPays };
      const { suspended } = await suspension.run(turn, mode);
      assert.deepEqual(suspended?.callIds, ["call_1"]);
      assert.ok(suspended !== undefined);
      await scene.decideNext("approve");
      const order = { url, apiKey, runId, calls, suspended };
      const report = await resumeInProcess(t, framework, mode, order);
      assert.deepEqual(report, { paid: ["A-1"], results: { call_1: "paid A-1" } });
      const again = await suspension.resume(turn, suspended, mode);
      assert.match(again.results.call_1 ?? "", /^The approval of this call was used before/);
    });

    test(`[ours.sdk.frameworks.suspend] ${name}, ${mode}: the model receives the note of a call that was denied while the run was suspended`, async () => {
      const scene = await sharedScene();
      const kinds: string[] = [];
      const turn: Turn = {
        approvals: approvalsOf(scene, { wait: false }),
        runId: `suspended and denied/${mode}`,
        calls: [CALL],
        pay: neverPays,
        onNotRun: ({ notRun }) => void kinds.push(notRun),
      };
      const { suspended } = await suspension.run(turn, mode);
      assert.ok(suspended !== undefined);
      await scene.decideNext("deny", { note: "Not that customer." });
      const { results } = await suspension.resume(turn, suspended, mode);
      assert.deepEqual(results, { call_1: "This call was denied: Not that customer." });
      assert.equal(kinds.at(-1), "denied");
    });

    test(`[ours.sdk.frameworks.suspend] [ours.sdk.frameworks.turn] ${name}, ${mode}: two suspended calls of a turn are decided separately`, async () => {
      const scene = await sharedScene();
      const { inputs, pay } = payments();
      const turn: Turn = {
        approvals: approvalsOf(scene, { wait: false }),
        runId: `suspended turn/${mode}`,
        calls: [CALL, SECOND],
        pay,
      };
      const { suspended } = await suspension.run(turn, mode);
      assert.ok(suspended !== undefined);
      await decideAll(scene, { "A-1": "approve", "B-2": "deny" });
      const { results } = await suspension.resume(turn, suspended, mode);
      assert.deepEqual(results, { call_1: "paid A-1", call_2: "This call was denied." });
      assert.deepEqual(inputs, [{ to: "A-1", cents: 500 }]);
    });
  }
  if (suspension.partialResume === undefined) rulesOfPartialResume(framework, suspension);
  else ruleOfLimit(framework, "partial resume", suspension.partialResume.unsupported);
}

function rulesOfPartialResume(framework: Framework, suspension: Suspension): void {
  const { name } = framework;
  for (const mode of modesOf(framework)) {
    test(`[ours.sdk.frameworks.suspend] [ours.sdk.frameworks.turn] ${name}, ${mode}: a run of which one call is decided is suspended again, and each call runs once`, async () => {
      const scene = await sharedScene();
      const { inputs, pay } = payments();
      const turn: Turn = {
        approvals: approvalsOf(scene, { wait: false }),
        runId: `partial/${mode}`,
        calls: [CALL, SECOND],
        pay,
      };
      let { suspended } = await suspension.run(turn, mode);
      let results: Results = {};
      for (const paid of [1, 2]) {
        assert.ok(suspended !== undefined);
        await scene.decideNext("approve");
        ({ suspended, results } = await suspension.resume(turn, suspended, mode));
        assert.equal(inputs.length, paid);
      }
      assert.equal(suspended, undefined);
      assert.deepEqual(results, { call_1: "paid A-1", call_2: "paid B-2" });
    });
  }
}

async function resumeInProcess(
  t: TestContext,
  { name, file = name }: Framework,
  mode: Mode,
  order: ResumeOrder,
): Promise<ResumeReport> {
  const agent = join(import.meta.dirname, "resume-agent.ts");
  const command = [process.execPath, "--no-warnings", agent, file, mode, JSON.stringify(order)];
  const child = new Child({ after: (end) => t.after(end) }, command, { env: process.env });
  const { code, stdout, stderr } = await child.ends();
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as ResumeReport;
}
