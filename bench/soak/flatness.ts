/**
 * Whether something that was sampled for long stayed as it was.
 */

import { median } from "../statistics.ts";

export interface Sample {
  /** Seconds since the beginning. */
  readonly atS: number;
  readonly value: number;
}

export interface Flatness {
  /** Medians of the first and the last third: a single peak moves neither. */
  readonly first: number;
  readonly last: number;
  /** Of the straight line through all samples, per hour. */
  readonly slopePerHour: number;
  readonly isFlat: boolean;
}

export interface Allowed {
  /** The last third may be so many times the first, */
  readonly factor: number;
  /** and so much more, in the unit of the samples. */
  readonly more: number;
}

/** @throws RangeError for fewer than three samples, which say nothing */
export function judgeFlatness(samples: readonly Sample[], allowed: Allowed): Flatness {
  if (samples.length < 3) throw new RangeError("three samples at least");
  const third = Math.floor(samples.length / 3);
  const medianOf = (some: readonly Sample[]) => median(some.map(({ value }) => value));
  const first = medianOf(samples.slice(0, third));
  const last = medianOf(samples.slice(-third));
  const isFlat = last <= first * allowed.factor + allowed.more;
  return { first, last, slopePerHour: slopeOf(samples) * 3_600, isFlat };
}

/** The lowest of each so many; what is left at the end is too few to have one. */
export function troughsOf(samples: readonly Sample[], each: number): Sample[] {
  const lowest = (some: readonly Sample[]) => some.reduce((a, b) => (b.value < a.value ? b : a));
  const count = Math.floor(samples.length / each);
  return Array.from({ length: count }, (_, i) => lowest(samples.slice(i * each, (i + 1) * each)));
}

/** Least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const meanOf = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const meanAt = meanOf(samples.map(({ atS }) => atS));
  const mean = meanOf(samples.map(({ value }) => value));
  let [above, below] = [0, 0];
  for (const { atS, value } of samples) {
    above += (atS - meanAt) * (value - mean);
    below += (atS - meanAt) ** 2;
  }
  return above / below;
}
