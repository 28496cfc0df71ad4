/**
 * Projects are of unequal size, and a project lives on one shard: how uneven that makes the shards,
 * and which project is too large for one. Sizes follow Zipf's law: the k-th largest project has a
 * share in proportion to k to the power of minus s.
 *
 * Called by: capacity.ts.
 */

import { type Chance, seeded } from "./random.ts";

export interface Unevenness {
  readonly shards: number;
  /** Of all calls: those of the largest project. */
  readonly largestProject: number;
  /** Load of the fullest shard over that of the mean one: median and worst of the tries. */
  readonly fullest: number;
  readonly fullestWorst: number;
  /** The same when the largest projects, one for each shard, are placed by hand. */
  readonly fullestPlaced: number;
}

/** Shares of all projects, the largest first; their sum is 1. */
export function zipfShares(projects: number, exponent: number): Float64Array {
  const shares = Float64Array.from({ length: projects }, (_, k) => (k + 1) ** -exponent);
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}

/** @returns load of the fullest shard over the mean, with every project on a shard by chance */
export function fullestByChance(shares: Float64Array, shards: number, chance: Chance): number {
  const loads = new Float64Array(shards);
  for (const share of shares) {
    const shard = Math.floor(chance() * shards);
    loads[shard] = (loads[shard] ?? 0) + share;
  }
  return largestOf(loads) * shards;
}

const PLACED_PER_SHARD = 20;

/**
 * The same when the largest projects are placed one after another on the shard that has least, as
 * an operator would move them, and only the others by chance.
 */
export function fullestPlaced(shares: Float64Array, shards: number, chance: Chance): number {
  const loads = new Float64Array(shards);
  const placed = Math.min(shares.length, shards * PLACED_PER_SHARD);
  for (let k = placed; k < shares.length; k++) {
    const shard = Math.floor(chance() * shards);
    loads[shard] = (loads[shard] ?? 0) + (shares[k] ?? 0);
  }
  for (let k = 0; k < placed; k++) {
    const shard = loads.indexOf(leastOf(loads));
    loads[shard] = (loads[shard] ?? 0) + (shares[k] ?? 0);
  }
  return largestOf(loads) * shards;
}

export interface Population {
  readonly projects: number;
  /** Of Zipf's law: 0 makes all projects equal, 1 is usual for what people use. */
  readonly exponent: number;
}

export function unevenness(
  { projects, exponent }: Population,
  shards: number,
  tries: number,
  seed: number,
): Unevenness {
  const shares = zipfShares(projects, exponent);
  const chance = seeded(seed);
  const fullest = Array.from({ length: tries }, () => fullestByChance(shares, shards, chance));
  fullest.sort((one, other) => one - other);
  return {
    shards,
    largestProject: shares[0] ?? 0,
    fullest: fullest[tries >> 1] ?? Number.NaN,
    fullestWorst: fullest.at(-1) ?? Number.NaN,
    fullestPlaced: fullestPlaced(shares, shards, chance),
  };
}

/**
 * @returns calls in a second, over all projects, above which the largest project alone is more than
 *   one shard may take
 */
export function outgrownAt({ projects, exponent }: Population, shardCapacity: number): number {
  return shardCapacity / (zipfShares(projects, exponent)[0] ?? 1);
}

function largestOf(loads: Float64Array): number {
  return loads.reduce((most, load) => Math.max(most, load), 0);
}

function leastOf(loads: Float64Array): number {
  return loads.reduce((least, load) => Math.min(least, load), Number.POSITIVE_INFINITY);
}

const SHARDS_MAX = 4_096;

/**
 * @returns how many shards keep the fullest within its capacity when large projects are placed by
 *   hand; undefined when the largest project alone is more than a shard takes
 */
export function shardsFor(
  population: Population,
  callsPerSecond: number,
  capacity: number,
  seed: number,
): number | undefined {
  const shares = zipfShares(population.projects, population.exponent);
  if ((shares[0] ?? 0) * callsPerSecond > capacity) return undefined;
  let count = Math.max(1, Math.ceil(callsPerSecond / capacity));
  for (; count <= SHARDS_MAX; count = Math.ceil(count * 1.02)) {
    const fullest = fullestPlaced(shares, count, seeded(seed));
    if ((fullest * callsPerSecond) / count <= capacity) return count;
  }
  return undefined;
}
