/**
 * This provider, asked from outside as any other is: the whole kit, on the engine of the run.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  countersignDecider,
  createAuthority,
  REQUIREMENTS,
  runConformance,
  SCENARIOS,
} from "@countersign/conformance";
import { startTestProvider } from "./support/test-provider.ts";

/** The kit asks for more at a time than a provisioner and a host may. */
const NO_BOUNDS = {
  instance_rate: "0",
  account_submission_rate: "0",
  provisioner_rate: "0",
  reviewer_rate: "0",
  unauthenticated_rate: "0",
  webhook_account_rate: "0",
  webhook_host_rate: "0",
  webhook_address_rate: "0",
  webhook_account_verifications: "0",
  webhook_host_verifications: "0",
  webhook_account_in_flight_max: "200",
  webhook_host_in_flight_max: "200",
  webhook_address_in_flight_max: "200",
};

/** A machine may be busy; what never happens still fails. */
const PATIENT = { patienceMs: 120_000, retryPatienceMs: 120_000, totalMs: 580_000 };

/** The one rule that does not touch this provider. */
const NO_END = {
  id: "authentication.expired",
  outcome: "not_applicable",
  reason: "credentials are not said to expire",
};

const authority = createAuthority();

const server = await startTestProvider(
  { after },
  {
    ca: [authority.certificate],
    // Short enough to see that an approval stays one when it has run out.
    settings: { ...NO_BOUNDS, webhook_allow_cidrs: "127.0.0.0/8", validity_default: "2s" },
  },
);

test("[ours.conformance.kept] this provider keeps every requirement that the kit can try", async () => {
  const provisionerToken = await server.token({ kind: "provisioner" });
  const other = { kind: "provisioner", name: "other", project: "other" } as const;
  const report = await runConformance({
    baseUrl: server.url,
    credential: { provisionerToken, otherProvisionerToken: await server.token(other) },
    decider: countersignDecider({
      url: server.url,
      token: await server.token({ kind: "reviewer" }),
    }),
    receiver: { host: "127.0.0.1", authority },
    timing: PATIENT,
    concurrency: 8,
  });
  const bad = report.scenarios.filter(({ outcome }) => outcome !== "passed");
  assert.deepEqual(
    bad.map(({ id, outcome, reason }) => ({ id, outcome, reason })),
    [NO_END],
  );
  const open = report.requirements.filter(({ outcome }) => {
    return outcome === "failed" || outcome === "not_tested";
  });
  assert.deepEqual(open, []);
  assert.deepEqual(report.leftBehind, []);
  // All but that one, and the one that is for providers of synchronous mode alone.
  assert.equal(report.passed, SCENARIOS.length - 2);
  assert.equal(report.requirements.length, REQUIREMENTS.length);
});

test("[ours.conformance.synchronous-only] a provider without asynchronous mode keeps what is asked of it", async (t) => {
  const quiet = await startTestProvider(t, { settings: { ...NO_BOUNDS, webhooks_off: "true" } });
  const report = await runConformance({
    baseUrl: quiet.url,
    credential: { provisionerToken: await quiet.token({ kind: "provisioner" }) },
    synchronousOnly: true,
    only: ["service", "receiver", "retry"],
    timing: PATIENT,
  });
  const outcomes = report.scenarios.map(({ id, outcome }) => [id, outcome]);
  assert.ok(
    outcomes.every(([, outcome]) => outcome === "passed"),
    JSON.stringify(outcomes),
  );
  const ids = outcomes.map(([id]) => id);
  assert.ok(ids.includes("service.synchronous-only") && !ids.includes("receiver.verified"));
});
