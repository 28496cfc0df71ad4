/**
 * Measures the provider against baselines that run beside it, on loopback, and prints ratios and
 * targets. Not part of the tests: a busy machine must not fail a change.
 */

import { join } from "node:path";
import { measureAuditCommands } from "./audit-commands.ts";
import { measureGatedCalls } from "./gated-call.ts";
import { measureGrowth } from "./growth.ts";
import { measureHookStarts } from "./hook-start.ts";
import { measureLongPolls } from "./long-polls.ts";
import { describeMachine } from "./machine.ts";
import { measureMigration } from "./migrate.ts";
import { measureOpenLoop } from "./open-loop.ts";
import { type Options, readOptions, type Section, USAGE } from "./options.ts";
import { PROFILE_NAME } from "./postgres/creates.ts";
import { measurePostgres } from "./postgres/measurements.ts";
import { readProfiles } from "./profile.ts";
import { compareScenarios } from "./ratios.ts";
import { type Results, resultTables, type ScenarioProfile } from "./results.ts";
import { cancel } from "./scenarios/cancel.ts";
import { create } from "./scenarios/create.ts";
import { decide } from "./scenarios/decide.ts";
import { read } from "./scenarios/read.ts";
import { replay } from "./scenarios/replay.ts";
import { roundTrip } from "./scenarios/round-trip.ts";
import { rows } from "./scenarios/rows.ts";
import { measureSimulation } from "./simulate.ts";
import { timeStarts } from "./start-up.ts";
import { measureStorage } from "./storage.ts";
import { targetTables } from "./targets.ts";
import { measureDeliveries } from "./webhooks/deliveries.ts";
import { DRAIN_NAMES } from "./webhooks/drain.ts";
import { measureWithWrk } from "./wrk.ts";

const SCENARIOS = [create, decide, replay, read, cancel, roundTrip, rows];

const FUNCTIONS_SHOWN = 25;

async function measure(options: Options): Promise<Results> {
  const wants = (section: Section) => options.only.includes(section);
  const machine = describeMachine();
  const scenarios = SCENARIOS.filter(({ name }) => wants(name));
  const comparisons = await compareScenarios(scenarios, options);
  const deliveries = wants("delivery") && { deliveries: await measureDeliveries(options) };
  const postgres = await measurePostgres(options);
  const profiles = profilesOf(options.profile, [
    // The storage-only baseline is a different program, without a profile.
    ...scenarios.filter(({ start }) => start === undefined).map(({ name }) => name),
    ...(deliveries === false ? [] : DRAIN_NAMES),
    ...(postgres?.creates === undefined ? [] : [PROFILE_NAME]),
  ]);
  return {
    comparisons,
    ...deliveries,
    ...(wants("open-loop") && { openLoop: await measureOpenLoop(options) }),
    ...(wants("long-polls") && { longPolls: await measureLongPolls(options) }),
    ...(wants("start-up") && { startUp: await timeStarts(options.installed) }),
    ...(wants("growth") &&
      options.stored !== undefined && { growth: await measureGrowth(options.stored, options) }),
    ...(wants("simulate") && { simulation: await measureSimulation(options) }),
    ...(wants("gated-call") && { gatedCalls: await measureGatedCalls(options) }),
    ...(wants("hook-start") && { hookStarts: await measureHookStarts(options) }),
    ...(wants("migrate") && { migration: await measureMigration(options) }),
    ...(wants("audit") && { audit: await measureAuditCommands(options) }),
    ...(wants("storage") && { storage: await measureStorage() }),
    ...(wants("wrk") && { wrk: await measureWithWrk(options) }),
    ...(postgres && { postgres }),
    profiles,
    machine,
    connections: options.connections,
  };
}

function profilesOf(folder: string | undefined, scenarios: readonly string[]): ScenarioProfile[] {
  if (folder === undefined) return [];
  return scenarios.map((scenario) => ({
    scenario,
    selfTimes: readProfiles(join(folder, scenario), FUNCTIONS_SHOWN),
  }));
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    console.log(USAGE);
  } else {
    const results = await measure(options);
    if (options.json) console.log(JSON.stringify(results, undefined, 2));
    else console.log([...resultTables(results), ...targetTables(results)].join("\n\n"));
  }
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
// Children that a failure left behind are killed on the way out.
process.exit();
