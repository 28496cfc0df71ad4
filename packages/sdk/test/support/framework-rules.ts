/**
 * The rules that every framework adapter follows. Each rule runs the real framework with a scripted
 * model in front of the real provider. `framework-description.ts` defines the input of the rules.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign } from "@countersign/sdk";
import { findFreePort } from "@countersign/testing/free-port";
import type { NotRun } from "../../src/framework-call.ts";
import type { Framework, Payment, Turn } from "./framework-description.ts";
import {
  approvalsOf,
  CALL,
  clientOf,
  decideAll,
  deliveredBy,
  LOOK,
  modesOf,
  neverPays,
  payments,
  ruleOfLimit,
  SECOND,
  sharedScene,
} from "./framework-scene.ts";
import { rulesOfSuspension } from "./suspension-rules.ts";

export function frameworkRules(framework: Framework): void {
  rulesOfDecisions(framework);
  rulesOfRuns(framework);
  rulesOfSelection(framework);
  ruleOfUnknownNames(framework);
  if ("unsupported" in framework.suspension) {
    ruleOfLimit(framework, "suspension", framework.suspension.unsupported);
  } else {
    rulesOfSuspension(framework, framework.suspension);
  }
  if (framework.streaming !== undefined) {
    ruleOfLimit(framework, "streaming", framework.streaming.unsupported);
  }
}

function rulesOfDecisions(framework: Framework): void {
  const { name } = framework;
  for (const mode of modesOf(framework)) {
    test(`[ours.sdk.frameworks.held] ${name}, ${mode}: a call waits for its approval, runs once with the approved arguments, and the model receives the result`, async () => {
      const scene = await sharedScene();
      const { inputs, pay } = payments();
      const runId = `held/${mode}`;
      const turn = { approvals: approvalsOf(scene), runId, calls: [CALL], pay };
      const running = framework.run(turn, mode);
      const id = await scene.nextPending();
      assert.deepEqual(inputs, []);
      const submitted = await scene.server.read(scene.token, id);
      await scene.server.decide(scene.reviewer, id, "approve");
      const outcome = await running;
      assert.deepEqual(outcome.results, { call_1: "paid A-1" });
      assert.deepEqual(deliveredBy(outcome, mode), { call_1: "paid A-1" });
      assert.deepEqual(inputs, [{ to: "A-1", cents: 500 }]);
      assert.deepEqual([submitted.tool, submitted.arguments], ["pay", inputs[0]]);
      const { runtime, session_id: session, call_id: call } = Object(submitted.context);
      assert.deepEqual([runtime, session, call], [name, runId, "call_1"]);
    });

    test(`[ours.sdk.frameworks.words] ${name}, ${mode}: the model receives the note of a denial`, async () => {
      const scene = await sharedScene();
      const kinds: string[] = [];
      const onNotRun = ({ notRun }: NotRun) => void kinds.push(notRun);
      const runId = `denied/${mode}`;
      const turn = {
        approvals: approvalsOf(scene),
        runId,
        calls: [CALL],
        pay: neverPays,
        onNotRun,
      };
      const running = framework.run(turn, mode);
      await scene.decideNext("deny", { note: "Not that customer." });
      const outcome = await running;
      const denied = { call_1: "This call was denied: Not that customer." };
      assert.deepEqual(outcome.results, denied);
      assert.deepEqual(deliveredBy(outcome, mode), denied);
      assert.deepEqual(kinds, ["denied"]);
    });
  }

  test(`[ours.sdk.frameworks.words] ${name}: the model receives the reason of an expired, a cancelled and an undecided call`, async () => {
    const scene = await sharedScene();
    const kinds: string[] = [];
    const onNotRun = ({ notRun }: NotRun) => void kinds.push(notRun);
    const base = { approvals: approvalsOf(scene), calls: [CALL], pay: neverPays, onNotRun };
    const run = async (turn: Omit<Turn, keyof typeof base> & Partial<Turn>) => {
      const { results } = await framework.run({ ...base, ...turn }, "complete");
      return results.call_1 ?? "";
    };
    const expired = await run({ runId: "expired", timeout: "1s" });
    assert.match(expired, /^No reviewer decided about this call in time/);
    const cancelling = run({ runId: "cancelled" });
    await clientOf(scene).cancel(await scene.nextPending());
    assert.match(await cancelling, /^The approval request of this call was cancelled/);
    const unavailable = approvalsOf(
      { ...scene, url: `http://127.0.0.1:${await findFreePort()}` },
      { retryFor: "50ms" },
    );
    const undecided = await run({ runId: "undecided", approvals: unavailable });
    assert.match(undecided, /^No decision was received for this call/);
    assert.deepEqual(kinds, ["expired", "cancelled", "no_decision"]);
  });
}

function rulesOfRuns(framework: Framework): void {
  const { name } = framework;
  for (const mode of modesOf(framework)) {
    test(`[ours.sdk.frameworks.abort] ${name}, ${mode}: an aborted run settles before its request is cancelled, and runs nothing`, async () => {
      const scene = await sharedScene();
      const settled = Promise.withResolvers<void>();
      const aborting = new AbortController();
      const approvals = approvalsOf(scene, {
        // Holds the cancellation back until the run has settled.
        async fetch(input, init) {
          if (init?.method === "DELETE") await settled.promise;
          return fetch(input, init);
        },
      });
      const { signal } = aborting;
      const runId = `aborted/${mode}`;
      const turn = { approvals, runId, calls: [CALL], pay: neverPays, signal };
      const running = framework.run(turn, mode);
      const id = await scene.nextPending();
      aborting.abort();
      await Promise.allSettled([running]);
      assert.equal((await clientOf(scene).read(id)).status, "pending");
      settled.resolve();
      assert.equal((await clientOf(scene).read(id, { wait: "25s" })).status, "cancelled");
    });

    test(`[ours.sdk.frameworks.turn] ${name}, ${mode}: of two calls of a turn, the approved one runs and the denied one does not`, async () => {
      const scene = await sharedScene();
      const { inputs, pay } = payments();
      const calls = [CALL, SECOND];
      const turn = { approvals: approvalsOf(scene), runId: `turn/${mode}`, calls, pay };
      const running = framework.run(turn, mode);
      await decideAll(scene, { "A-1": "approve", "B-2": "deny" });
      const expected = { call_1: "paid A-1", call_2: "This call was denied." };
      const outcome = await running;
      assert.deepEqual(outcome.results, expected);
      assert.deepEqual(deliveredBy(outcome, mode), expected);
      assert.deepEqual(inputs, [{ to: "A-1", cents: 500 }]);
    });
  }

  test(`[ours.sdk.frameworks.once] ${name}: a repeated run with the same call id submits one request and runs the call once`, async () => {
    const scene = await sharedScene();
    const before = await scene.countRequests();
    const { inputs, pay } = payments();
    const start = async () => {
      // As after a restart of the process: only the provider knows which approvals were used.
      const { url, token: apiKey } = scene;
      const approvals = new Countersign({ url, apiKey, timeout: "1m", logger: false });
      const turn = { approvals, runId: "once", calls: [CALL], pay };
      return (await framework.run(turn, "complete")).results.call_1 ?? "";
    };
    const first = start();
    await scene.decideNext("approve");
    assert.equal(await first, "paid A-1");
    assert.match(await start(), /^The approval of this call was used before/);
    assert.equal(inputs.length, 1);
    assert.equal(await scene.countRequests(), before + 1);
  });

  test(`[ours.sdk.frameworks.once] ${name}: two calls of a turn with the same id run once`, async () => {
    const scene = await sharedScene();
    const { inputs, pay } = payments();
    const turn = { approvals: approvalsOf(scene), runId: "twins", calls: [CALL, CALL], pay };
    const running = framework.run(turn, "complete");
    await scene.decideNext("approve");
    await running;
    assert.equal(inputs.length, 1);
  });
}

function rulesOfSelection(framework: Framework): void {
  const { name } = framework;
  const selections: Readonly<Record<string, Pick<Turn, "only" | "except">>> = {
    only: { only: ["pay"] },
    except: { except: ["look"] },
    "a function": { only: (toolName) => toolName === "pay" },
    "a function and except": { only: () => true, except: ["look"] },
  };
  for (const [by, selection] of Object.entries(selections)) {
    test(`[ours.sdk.frameworks.selection] ${name}: with ${by}, the unselected tool runs without an approval and the selected one waits`, async () => {
      const scene = await sharedScene();
      const before = await scene.countRequests();
      const looked: string[] = [];
      const look = ({ to }: Payment) => {
        looked.push(to);
        return "seen";
      };
      const turn: Turn = {
        approvals: approvalsOf(scene),
        runId: `selection/${by}`,
        calls: [CALL, LOOK],
        pay: neverPays,
        look,
        ...selection,
      };
      const running = framework.run(turn, "complete");
      await scene.decideNext("deny");
      const { results } = await running;
      assert.deepEqual(results, { call_1: "This call was denied.", call_3: "seen" });
      assert.deepEqual(looked, ["C-3"]);
      assert.equal(await scene.countRequests(), before + 1);
    });
  }
}

function ruleOfUnknownNames({ name, run }: Framework): void {
  const selections: Readonly<Record<string, object>> = {
    only: { only: ["pya"] },
    except: { only: ["pay"], except: ["lok"] },
  };
  for (const [option, selection] of Object.entries(selections)) {
    test(`[ours.sdk.frameworks.selection] ${name}: with an unknown name in ${option}, an unselected tool does not run`, async () => {
      const turn: Turn = {
        approvals: approvalsOf(await sharedScene()),
        runId: `unknown/${option}`,
        calls: [LOOK],
        pay: neverPays,
        look: neverPays,
        ...selection,
      };
      // A framework that receives its tools later reports the error as the result of the call.
      const reported = run(turn, "complete").then(
        ({ results }) => results.call_3 ?? "",
        (error: { readonly code?: string; readonly message: string }) => {
          assert.equal(error.code, "invalid_option");
          return error.message;
        },
      );
      assert.match(await reported, /only or except names unknown tools: "(pya|lok)"/);
    });
  }
}
