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
import { catching, examine, fitting } from "./broken-provider/examine.ts";
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
  "service.https": "the provider of these tests is on loopback, where HTTP is allowed",
};

/** Rules that the kit saw broken, or whose scenarios failed for a fault that breaks them. */
const seenBroken = new Set<string>();

suite("the kit and a provider to be broken", { concurrency: AT_ONCE }, () => {
  test("[ours.conformance.broken] without a fault every scenario passes", async () => {
    const { scenarios, leftBehind } = await examine({
      options: { validityMs: 3_000 },
      timing: { ...PATIENT, quietMs: 700, patienceMs: 60_000 },
    });
    const open = scenarios.filter(({ id }) => !NEEDS_BRIEF_CREDENTIALS.includes(id));
    assert.deepEqual(open.filter(({ outcome }) => outcome !== "passed").map(told), []);
    assert.deepEqual(leftBehind, []);
  });

  test("[ours.conformance.broken] so it is where credentials last for seconds", async () => {
    const options = { credentialMs: 3_000 };
    const { scenarios } = await examine({
      options,
      only: NEEDS_BRIEF_CREDENTIALS,
      timing: PATIENT,
    });
    assert.deepEqual(scenarios.filter(({ outcome }) => outcome !== "passed").map(told), []);
  });

  test("[ours.conformance.broken] so it is where webhooks are off", async () => {
    const options = { webhooks: false, validityMs: 3_000 };
    const { scenarios } = await examine({ options, only: WITHOUT_WEBHOOKS, timing: PATIENT });
    assert.deepEqual(scenarios.filter(({ outcome }) => outcome !== "passed").map(told), []);
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

/** Of the scenarios, what these options are about. */
const NEEDS_BRIEF_CREDENTIALS = ["authentication.expired"];
const WITHOUT_WEBHOOKS = ["service", "provision", "receiver"];

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
    tried.push(...report.scenarios.map(told));
  }
  return { caught: [], tried };
}

function told({ id, outcome, violated = "", reason = "" }: ScenarioOutcome): string {
  return `${id}: ${outcome} ${violated} ${reason}`;
}
