/**
 * `countersign serve` killed with -9 at random moments, started again, and killed again, while
 * callers go on; then everything that was promised is held against what is there.
 *
 * The seed says when servers are killed and what callers do; how the machine takes turns between
 * them it cannot say, so the same seed finds the same fault often, not always.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@countersign/testing/eventually";
import { type Chance, seeded } from "../simulator/random.ts";
import { Journal } from "./journal.ts";
import { type Callers, Worker } from "./load.ts";
import { type Engine, type Lifetime, openPlace, type Place } from "./place.ts";
import { startReceivers } from "./receivers.ts";
import { verifyAll } from "./verify.ts";

export interface Plan {
  readonly engine: Engine;
  readonly cycles: number;
  readonly seed: number;
  /** A server lives until callers have done so much at most; most of them die earlier. */
  readonly actsMax: number;
  /** Whether the disk of SQLite loses what was not synced, each time. */
  readonly hasPowerCuts?: boolean;
  /** Kills no more after so long, however many cycles are left. */
  readonly killingMs: number;
  /** Waits at the end until receivers that failed have everything, which takes minutes. */
  readonly isWhole: boolean;
  /** How long what is owed may take at the end. */
  readonly settleMs: number;
  readonly print: (line: string) => void;
}

export interface Found {
  readonly violations: readonly string[];
  readonly kills: number;
  readonly killsInStart: number;
  readonly submitted: number;
  readonly instances: number;
  readonly events: number;
  /** Attempts beyond the first of each event. */
  readonly repeated: number;
  readonly decisions: Readonly<Record<string, number>>;
}

const WORKERS = 10;

/** The maximum number of actions by callers while one server runs. */
export const ACTS_MAX = 150;
/** The server then runs at most this long, so that it does not always stop after a response. */
const LIFE_MS_MAX = 30;
/** On any machine; a server that answers no call for so long is stuck. */
const STUCK_MS = 240_000;
/** About as long as a start takes. */
const START_MS_MAX = 500;
const KILLED_IN_START = 0.15;

/** Between two things that a caller does while no server is up. */
const PAUSE_MS = 10;

export async function runCycles(t: Lifetime, plan: Plan): Promise<Found> {
  const { engine, seed, cycles, print, hasPowerCuts } = plan;
  const journal = new Journal();
  const receivers = await startReceivers(t, journal, seed + 1);
  const place = await openPlace(t, engine, receivers.certificate, seeded(seed + 2), hasPowerCuts);
  for (let index = 0; index < place.replicas; index++) await place.start(index);
  const callers: Callers = {
    journal,
    receivers,
    fetch: place.fetch,
    provisioner: await place.token("provisioner", "crash"),
    reviewers: [await place.token("reviewer", "one"), await place.token("reviewer", "other")],
    shortTimeouts: ["1s", "2s", "3s"],
  };
  await new Worker(callers, "first", seeded(seed + 99)).prepare();
  let isOver = false;
  let acts = 0;
  const load = Array.from({ length: WORKERS }, async (_, n) => {
    const worker = new Worker(callers, String(n), seeded(seed + 100 + n));
    while (!isOver) {
      await worker.act();
      acts++;
      // Also when no server is up: a loop of refused connections would starve all processes.
      await sleep(PAUSE_MS);
    }
  });
  let killsInStart = 0;
  let kills = 0;
  /** The last start of each replica, by its index. */
  const starts = new Map<number, Promise<void>>();
  const chance = seeded(seed);
  const endsAt = performance.now() + plan.killingMs;
  const isKilling = () => performance.now() < endsAt && journal.violations.length === 0;
  try {
    for (let cycle = 1; cycle <= cycles && isKilling(); cycle++) {
      killsInStart += await killOnce(place, chance, plan.actsMax, () => acts, starts);
      kills = cycle;
      const { submissions, arrivals } = journal;
      if (cycle % 25 !== 0) continue;
      print(`cycle ${cycle}: ${submissions.length} submitted, ${arrivals} notifications`);
    }
    await Promise.all(starts.values());
  } finally {
    isOver = true;
  }
  await Promise.all(load);
  if (journal.violations.length === 0) {
    print("the killing is over: everything is asked for again");
    await verifyAll(place, callers, plan.isWhole, plan.settleMs);
  }
  await place.stop();
  return summarize(journal, kills, killsInStart);
}

/** @returns how many starts were cut short on the way */
async function killOnce(
  place: Place,
  chance: Chance,
  actsMax: number,
  acts: () => number,
  starts: Map<number, Promise<void>>,
): Promise<number> {
  // More often early than late: what a server does first is recovery.
  const target = acts() + chance() ** 1.5 * actsMax;
  await eventually("callers are answered", () => (acts() >= target ? true : undefined), STUCK_MS);
  await sleep(chance() * LIFE_MS_MAX);
  const first = Math.floor(chance() * place.replicas);
  const isAll = chance() < 0.3;
  const all = Array.from({ length: place.replicas }, (_, n) => (first + n) % place.replicas);
  const doomed = isAll ? all : [first];
  // Another replica may be killed while one starts.
  await Promise.all(doomed.map((index) => starts.get(index)));
  await Promise.all(doomed.map((index) => place.kill(index)));
  const isCutShort = chance() < KILLED_IN_START;
  if (isCutShort) await place.killInStart(first, chance() * START_MS_MAX);
  for (const index of doomed) {
    const started = place.start(index);
    // The next user of the replica awaits it, and gets its failure.
    started.catch(() => {});
    starts.set(index, started);
  }
  return isCutShort ? 1 : 0;
}

function summarize(journal: Journal, kills: number, killsInStart: number): Found {
  const { submissions, instances, violations, events, arrivals } = journal;
  const decisions: Record<string, number> = {};
  for (const { known } of submissions) {
    const status = known?.status ?? "unknown";
    decisions[status] = (decisions[status] ?? 0) + 1;
  }
  return {
    violations,
    killsInStart,
    decisions,
    kills,
    submitted: submissions.length,
    instances: instances.length,
    events: events.size,
    repeated: arrivals - events.size,
  };
}
