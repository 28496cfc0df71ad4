/**
 * The kit is proven by a provider that is broken on purpose: without a fault every scenario
 * passes, and whatever fault is planted the kit finds it, and says which rule is broken.
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

/** Most of it is waiting. */
const AT_ONCE = 16;

/** The provider tries again after 50 ms, and what it should not send would come as fast. */
const QUICK: Partial<Timing> = { quietMs: 700, patienceMs: 4_000, retryPatienceMs: 4_000 };

/** For busy machines. A fault that is seen by what does not come is seen later then. */
const PATIENT: Partial<Timing> = { quietMs: 2_000, patienceMs: 30_000, retryPatienceMs: 30_000 };

/** For machines on which even that is not enough: what should not come has all the time to. */
const LAST: Partial<Timing> = { quietMs: 10_000, patienceMs: 60_000, retryPatienceMs: 60_000 };

/** Testable rules that no fault of the table breaks, and why. */
const UNBROKEN: Readonly<Partial<Record<RequirementId, string>>> = {
  "service.https.required": "the provider of these tests is on loopback, where HTTP is allowed",
};

/** So that the end of an approval can be awaited. */
const LASTING_SECONDS = { validityMs: 3_000 };

/** Ten seconds, or thirty. */
const LONGEST = ["read.wait-cap", "receiver.deadline", "retry.timeout", "retry.removed"];

const OF_BRIEF_CREDENTIALS = ["authentication.expired"];

/** Rules that the kit saw broken, or whose scenarios failed for a fault that breaks them. */
const seenBroken = new Set<string>();

// Alone: the provider has to keep times, and all those below would keep it from that.
test("[ours.conformance.broken] without a fault every scenario passes", async () => {
  await expectAllPassed({ options: LASTING_SECONDS, skip: [...LONGEST, ...OF_BRIEF_CREDENTIALS] });
});

suite("the kit and a provider to be broken", { concurrency: AT_ONCE }, () => {
  test("[ours.conformance.broken] so do those that wait for long", async () => {
    await expectAllPassed({ options: LASTING_SECONDS, only: LONGEST });
  });

  test("[ours.conformance.broken] so do those about credentials that last for seconds", async () => {
    await expectAllPassed({ options: { credentialMs: 3_000 }, only: OF_BRIEF_CREDENTIALS });
  });

  test("[ours.conformance.broken] so do those about a provider without webhooks", async () => {
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

test("[ours.conformance.broken] every rule that the kit tries is broken by a fault", () => {
  const testable = REQUIREMENTS.filter(({ check }) => check !== undefined).map(({ id }) => id);
  const unseen: readonly string[] = testable.filter((id) => !seenBroken.has(id));
  assert.deepEqual(unseen, Object.keys(UNBROKEN));
});

test("[ours.conformance.broken] faults have ids and sentences of their own", () => {
  for (const name of ["id", "sentence"] as const) {
    assert.equal(new Set(FAULTS.map((fault) => fault[name])).size, FAULTS.length);
  }
});

/** What a busy machine has made late is asked once more, by itself. */
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

/** Tries the quick scenarios, then the slow ones, and all of them patiently in the end. */
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
