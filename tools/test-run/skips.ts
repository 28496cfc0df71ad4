/**
 * Which tests were skipped in a run, and whether they may be: a test runs, or it is about another
 * engine (`onlyOn` of packages/server/test/support/engine.ts) and is counted.
 */

/** A test that was skipped, or is marked as still to do. */
export interface Skip {
  readonly name: string;
  readonly reason: string;
}

export interface Judgement {
  /** All of them by name, to be printed. */
  readonly lines: readonly string[];
  /** The reasons why the run fails. */
  readonly faults: readonly string[];
}

/** The file with the numbers, named in the output. */
export const COUNTS_FILE = "tools/test-run/only-on-sqlite.ts";

const ABOUT_AN_ENGINE = /^only on (?:sqlite|postgres): (.+)$/;

/**
 * @param counts how many tests are skipped because they are about another engine, by reason
 * @param isWhole whether all files have run; of reasons that do not occur nothing is said otherwise
 */
export function judgeSkips(
  skips: readonly Skip[],
  counts: Readonly<Record<string, number>>,
  isWhole: boolean,
): Judgement {
  const lines: string[] = [];
  const faults: string[] = [];
  const found = new Map<string, number>();
  for (const [reason, some] of Map.groupBy(skips, (skip) => skip.reason)) {
    lines.push(`${some.length} skipped, ${reason}`, ...some.map(({ name }) => `  - ${name}`));
    const counted = ABOUT_AN_ENGINE.exec(reason)?.[1];
    if (counted !== undefined) found.set(counted, some.length);
    else faults.push(`"${some[0]?.name}" is skipped without being about one engine: ${reason}`);
  }
  for (const reason of new Set([...found.keys(), ...(isWhole ? Object.keys(counts) : [])])) {
    const [now, expected] = [found.get(reason) ?? 0, counts[reason] ?? 0];
    if (now === expected) continue;
    faults.push(`"${reason}": ${now} skipped, ${expected} in ${COUNTS_FILE}; if so, say so there`);
  }
  return { lines, faults };
}
