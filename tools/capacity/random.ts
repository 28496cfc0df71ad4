/**
 * Chance that is the same for the same seed, so that a simulation can be repeated and tested.
 *
 * Called by: the simulations of this folder.
 */

/** The next number, from 0 up to but not 1. */
export type Chance = () => number;

/** SplitMix32 of G. Steele et al.: enough for a queue, for no secret. */
export function seeded(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e37_79b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0_aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** A time between two arrivals of a Poisson process, or a service that may take any time. */
export function exponential(chance: Chance, mean: number): number {
  return -mean * Math.log(1 - chance());
}

/**
 * A service time: never less than nothing, seldom much more than its mean.
 *
 * @param variation standard deviation over mean; 0 is always the mean
 */
export function logNormal(chance: Chance, mean: number, variation: number): number {
  if (variation === 0) return mean;
  const variance = Math.log(1 + variation ** 2);
  const normal = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
  return mean * Math.exp(Math.sqrt(variance) * normal - variance / 2);
}
