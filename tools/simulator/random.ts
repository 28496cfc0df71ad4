/**
 * Random numbers from a seed, so that a simulation and a crash test can be repeated.
 */

/** The next number, from 0 up to but not 1. */
export type Chance = () => number;

/** SplitMix32 of G. Steele et al.: good enough for a test, not for a secret. */
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
