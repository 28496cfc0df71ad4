/**
 * The few statistics that the benchmark prints.
 */

/** The smallest value that `percent` of the values do not exceed; NaN for no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort();
  const rank = Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1);
  return sorted[rank] ?? Number.NaN;
}

/** The middle value, or the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (upper + lower) / 2;
}

/** The lowest and the highest value. */
export function rangeOf(values: readonly number[]): readonly [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return {
    p50: percentile(values, 50),
    p99: percentile(values, 99),
    max: percentile(values, 100),
  };
}
