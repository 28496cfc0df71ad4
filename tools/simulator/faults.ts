/**
 * The injected faults and their frequency. Every seed draws its own selection: with all faults at
 * once no request would make progress.
 */

import type { Draw } from "./draw.ts";

/** Probabilities, each for one occasion. */
export interface Faults {
  /** For each turn: a replica ends without a word, and starts again later. */
  readonly crash: number;
  /** For each turn: a replica stops for a while and goes on without knowing. */
  readonly freeze: number;
  /** For each turn: a replica is asked to stop, and starts again later. */
  readonly restart: number;
  /** For each turn: a machine's clock is set. */
  readonly clock: number;
  /** For each turn: the database's clock is set, by less than the margin of a lease. */
  readonly databaseClock: number;
  /** For each turn: so is it by minutes, which ends leases early. */
  readonly databaseLeap: number;
  /** For each turn: everything sleeps, mostly until right before something falls due. */
  readonly leap: number;
  /** For each claim: who made it freezes for seconds, and its receiver or instance goes. */
  readonly outrun: number;
  /** For each statement: its connection breaks. */
  readonly statement: number;
  /** For each commit: it is not made, and the store reports that. */
  readonly commitLost: number;
  /** For each commit: it is made, and the store reports a failure. */
  readonly commitUnknown: number;
  /** For each commit: the engine undoes it and has the work run again. */
  readonly rerun: number;
  /** For each work in a transaction that works share: it fails by itself, between its writes. */
  readonly readFailure: number;
  /** For each message between replicas and each of them: it does not arrive. */
  readonly wakeLost: number;
  /** For each message between replicas and each of them: it arrives twice. */
  readonly wakeTwice: number;
  /** For each exchange: the question, or the answer, is lost. */
  readonly exchangeLost: number;
  /** For each exchange: it is played a second time, perhaps elsewhere. */
  readonly exchangeTwice: number;
  /** For each message to a receiver: it does something else than what it should. */
  readonly receiver: number;
  /** For each name that is looked up: there is no answer, or a private address. */
  readonly names: number;
}

export const NO_FAULTS: Faults = {
  crash: 0,
  freeze: 0,
  restart: 0,
  clock: 0,
  databaseClock: 0,
  databaseLeap: 0,
  leap: 0,
  outrun: 0,
  readFailure: 0,
  statement: 0,
  commitLost: 0,
  commitUnknown: 0,
  rerun: 0,
  wakeLost: 0,
  wakeTwice: 0,
  exchangeLost: 0,
  exchangeTwice: 0,
  receiver: 0,
  names: 0,
};

/** When it is on, from seldom to often. */
const RANGES: Readonly<Record<keyof Faults, readonly [number, number]>> = {
  crash: [0.0005, 0.004],
  freeze: [0.0005, 0.004],
  restart: [0.0002, 0.001],
  clock: [0.0005, 0.003],
  databaseClock: [0.0005, 0.003],
  databaseLeap: [0.0002, 0.001],
  leap: [0.001, 0.02],
  outrun: [0.02, 0.3],
  statement: [0.0005, 0.02],
  commitLost: [0.005, 0.1],
  commitUnknown: [0.005, 0.1],
  rerun: [0.005, 0.1],
  readFailure: [0.1, 0.6],
  wakeLost: [0.05, 1],
  wakeTwice: [0.05, 0.5],
  exchangeLost: [0.02, 0.3],
  exchangeTwice: [0.02, 0.3],
  receiver: [0.1, 0.8],
  names: [0.02, 0.3],
};

/** In which part of the seeds, where it is not two of five. */
const OFTEN: Readonly<Record<string, number>> = { databaseLeap: 0.1, receiver: 0.7 };

/** Each on in two of five seeds; none at all in one of twenty. */
export function drawFaults(draw: Draw): Faults {
  if (draw.happens(0.05)) return NO_FAULTS;
  const entries = Object.entries(RANGES).map(([name, [least, most]]) => {
    const isOn = draw.happens(OFTEN[name] ?? 0.4);
    // As many seeds in each power of ten.
    return [name, isOn ? least * (most / least) ** draw.fraction() : 0];
  });
  return Object.fromEntries(entries) as Record<keyof Faults, number>;
}
