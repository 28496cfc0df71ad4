/**
 * Each scenario against the baseline, in turns: first the baseline, then the subject. Drift of the
 * machine falls on both alike, and the ratio is the median of the ratios of the turns.
 */

import { join } from "node:path";
import { cpuSeconds } from "./children.ts";
import type { Load } from "./load-generator.ts";
import { echoMessage } from "./messages.ts";
import type { Options } from "./options.ts";
import type { Scenario, TimedRun } from "./scenarios/scenario.ts";
import { median } from "./statistics.ts";
import { startFloor, startSubject, type Target } from "./subject.ts";
import { reportProgress } from "./table.ts";

export interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the server for one exchange, in microseconds. */
  readonly cpuUs: number;
}

export interface Comparison {
  readonly scenario: string;
  readonly floor: Rate;
  readonly subject: Rate;
  /** Exchanges a second of the subject for each of the baseline. */
  readonly ratio: number;
  readonly turns: readonly Turn[];
}

export interface Turn {
  readonly floor: Rate;
  readonly subject: Rate;
}

/** Untimed, so that both have compiled their hot paths. */
const WARM_UP_S = 1.5;

export async function compareScenarios(
  scenarios: readonly Scenario[],
  options: Options,
): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const scenario of scenarios) comparisons.push(await compare(scenario, options));
  return comparisons;
}

async function compare(scenario: Scenario, options: Options): Promise<Comparison> {
  const { connections, profile, rounds, seconds } = options;
  const folder = profile === undefined ? undefined : join(profile, scenario.name);
  const floor = await startFloor(connections);
  const { policy, start = startSubject } = scenario;
  const subject = await start({ connections, profile: folder, policy });
  try {
    await floor.run(echo(), WARM_UP_S);
    const warmUp = await scenario.prepare(subject, WARM_UP_S);
    await warmUp(WARM_UP_S);
    const turns: Turn[] = [];
    for (let round = 0; round < rounds; round++) {
      reportProgress(`${scenario.name}: round ${round + 1} of ${rounds}`);
      const run = await scenario.prepare(subject, seconds);
      turns.push(await takeTurn(floor, subject, run, seconds));
    }
    return summarizeTurns(scenario.name, turns);
  } finally {
    await floor.stop();
    await subject.stop();
  }
}

async function takeTurn(
  floor: Target,
  subject: Target,
  run: TimedRun,
  seconds: number,
): Promise<Turn> {
  return {
    floor: await rate(floor, (time) => floor.run(echo(), time), seconds),
    subject: await rate(subject, run, seconds),
  };
}

async function rate({ pid }: Target, run: TimedRun, seconds: number): Promise<Rate> {
  const cpuBefore = cpuSeconds(pid);
  const { exchanges, perSecond, p50Ms, p99Ms } = await run(seconds);
  const cpuUs = ((cpuSeconds(pid) - cpuBefore) / exchanges) * 1e6;
  return { perSecond, p50Ms, p99Ms, cpuUs };
}

function echo(): Load {
  let n = 0;
  return { next: () => echoMessage(n++), status: 200 };
}

function summarizeTurns(scenario: string, turns: readonly Turn[]): Comparison {
  return {
    scenario,
    floor: medianRate(turns.map((turn) => turn.floor)),
    subject: medianRate(turns.map((turn) => turn.subject)),
    ratio: median(turns.map(ratioOf)),
    turns,
  };
}

export function ratioOf({ subject, floor }: Turn): number {
  return subject.perSecond / floor.perSecond;
}

function medianRate(rates: readonly Rate[]): Rate {
  return {
    perSecond: median(rates.map((one) => one.perSecond)),
    p50Ms: median(rates.map((one) => one.p50Ms)),
    p99Ms: median(rates.map((one) => one.p99Ms)),
    cpuUs: median(rates.map((one) => one.cpuUs)),
  };
}
