/**
 * Tests the kit with a provider that contains planted faults. Without a fault every scenario
 * passes. The kit finds every planted fault and reports the violated rule.
 */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  REQUIREMENTS,
  type RequirementId,
  type ScenarioOutcome,
  type Timing,
} from "../src/index.ts";
import { catching, type Examination, examine, fitting } from "./broken-provider/examine.ts";
import { FAULTS } from "./broken-provider/faults/all.ts";
import type { Fault } from "./broken-provider/faults/fault.ts";

/** High, because most of the time is waiting. */
const AT_ONCE = 16;

/** The provider retries after 50 ms, so a wrong message arrives as fast. */
const QUICK: Partial<Timing> = { quietMs: 700, patienceMs: 4_000, retryPatienceMs: 4_000 };

/** For busy machines: a missing message is detected later. */
const PATIENT: Partial<Timing> = { quietMs: 2_000, patienceMs: 30_000, retryPatienceMs: 30_000 };

/** For very busy machines: a wrong message has ample time to arrive. */
const LAST: Partial<Timing> = { quietMs: 10_000, patienceMs: 60_000, retryPatienceMs: 60_000 };

/** Testable rules without a fault that breaks them, with the reason. */
const UNBROKEN: Readonly<Partial<Record<RequirementId, string>>> = {
  "service.https.required": "the provider of these tests is on loopback, where HTTP is allowed",
};

/** Short, so that a scenario can wait for the expiry of an approval. */
const LASTING_SECONDS = { validityMs: 3_000 };

/** Scenarios that take ten or thirty seconds. */
const LONGEST = ["read.wait-cap", "receiver.deadline", "retry.timeout", "retry.removed"];

const OF_BRIEF_CREDENTIALS = ["authentication.expired"];

/** Rules that the kit reported as violated, or with a scenario that failed for their fault. */
const seenBroken = new Set<string>();

// Runs alone: the concurrent tests below would delay the provider's timers.
test("[ours.conformance.broken] without a fault every scenario passes", async () => {
  await expectAllPassed({ options: LASTING_SECONDS, skip: [...LONGEST, ...OF_BRIEF_CREDENTIALS] });
});

suite("the kit and a provider to be broken", { concurrency: AT_ONCE }, () => {
  test("[ours.conformance.broken] without a fault the slow scenarios pass", async () => {
    await expectAllPassed({ options: LASTING_SECONDS, only: LONGEST });
  });

  test("[ours.conformance.broken] without a fault the scenarios about short-lived credentials pass", async () => {
    await expectAllPassed({ options: { credentialMs: 3_000 }, only: OF_BRIEF_CREDENTIALS });
  });

  test("[ours.conformance.broken] without a fault the scenarios for a provider without webhooks pass", async () => {
    await expectAllPassed({ options: { webhooks: false }, only: ["service", "receiver"] });
  });

  for (const fault of FAULTS) {
    test(`[ours.conformance.broken] ${fault.id}: ${fault.sentence}`, async () => {
      const { caught, tried } = await find(fault);
      for (const { violated, requirements } of caught) {
        if (violated !== undefined) seenBroken.add(violated);
        for (const id of fault.breaks) if (requirements.includes(id)) seenBroken.add(id);
      }
      const rules = fault.breaks.join(", ");
      const message = `${fault.section}: nothing fails for ${rules}:\n${tried.join("\n")}`;
      assert.ok(caught.length > 0, message);
    });
  }
});

test("[ours.conformance.broken] every rule that the kit tests has a fault that violates it", () => {
  const testable = REQUIREMENTS.filter(({ check }) => check !== undefined).map(({ id }) => id);
  const unseen: readonly string[] = testable.filter((id) => !seenBroken.has(id));
  assert.deepEqual(unseen, Object.keys(UNBROKEN));
});

test("[ours.conformance.broken] faults have unique ids and sentences", () => {
  for (const name of ["id", "sentence"] as const) {
    assert.equal(new Set(FAULTS.map((fault) => fault[name])).size, FAULTS.length);
  }
});

/** Repeats failed scenarios alone, because a busy machine can delay them. */
async function expectAllPassed(examination: Examination): Promise<void> {
  const timing = { ...PATIENT, quietMs: 700, patienceMs: 60_000 };
  const first = await examine({ ...examination, timing });
  const { skip = [] } = examination;
  const open = first.scenarios.filter(({ id, outcome }) => {
    return outcome !== "passed" && !skip.includes(id);
  });
  assert.deepEqual(first.leftBehind, []);
  if (open.length === 0) return;
  const only = open.map(({ id }) => id);
  const { options } = examination;
  const { scenarios } = await examine({ timing, only, ...(options && { options }) });
  const failed = scenarios.filter(({ outcome }) => outcome !== "passed");
  assert.deepEqual(failed.map(describeOutcome), [], open.map(describeOutcome).join("\n"));
}

interface Finding {
  readonly caught: readonly ScenarioOutcome[];
  /** In words. */
  readonly tried: readonly string[];
}

/** Tries the quick scenarios, then the slow ones, and finally all with longer time limits. */
async function find(fault: Fault): Promise<Finding> {
  const groups = fitting(fault);
  const rounds = [
    ...groups.map((only) => ({ only, timing: QUICK })),
    { only: groups.flat(), timing: PATIENT },
    { only: groups.flat(), timing: LAST },
  ];
  const tried: string[] = [];
  for (const { only, timing } of rounds) {
    const report = await examine({ fault, only, timing });
    const caught = catching(fault, report);
    if (caught.length > 0) return { caught, tried };
    tried.push(...report.scenarios.map(describeOutcome));
  }
  return { caught: [], tried };
}

function describeOutcome({ id, outcome, violated = "", reason = "" }: ScenarioOutcome): string {
  return `${id}: ${outcome} ${violated} ${reason}`;
}
