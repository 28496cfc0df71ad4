/**
 * The entry point of the examiner thread. It has no database, secrets or network: it receives a
 * source and returns findings.
 */

import { parentPort } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { examinePolicy } from "../policy/examine.ts";
import { outlineOf } from "../policy/outline.ts";
import type { Examination, ExaminationOrder } from "./examiner.ts";
import { type PackedPolicy, packPolicy } from "./packed-policy.ts";

export interface ThreadAnswer extends Omit<Examination, "policy" | "isStopped"> {
  readonly packed: PackedPolicy | undefined;
}

function answer(order: ExaminationOrder): ThreadAnswer {
  const { source, runsTests, wantsPolicy, ...options } = order;
  const clock = runsTests ? systemClock : null;
  const { policy, findings, tests } = examinePolicy(options, source, clock);
  return {
    findings,
    tests,
    warnings: policy?.warnings ?? [],
    rules: policy?.rules.length ?? 0,
    outlines: policy?.rules.map(outlineOf) ?? [],
    packed: policy !== undefined && wantsPolicy ? packPolicy(policy) : undefined,
  };
}

parentPort?.on("message", (order: ExaminationOrder) => parentPort?.postMessage(answer(order)));
