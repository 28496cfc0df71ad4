/**
 * Compares the reference with the code: each error code has exactly one entry, each option is
 * documented, and no entry names an unknown error code.
 */

import type { Violation } from "./source.ts";

export const ERRORS_PAGE = "docs/reference/errors.md";
export const CONFIG_PAGE = "docs/reference/config.md";

/**
 * An entry is a heading that starts with the code in backticks, or a table row that starts with the
 * code and its status.
 *
 * @param page undefined when the page does not exist
 */
export function errorsDocumented(codes: readonly string[], page: string | undefined): Violation[] {
  const documented = new Map<string, number>();
  const violations: Violation[] = [];
  for (const [index, line] of (page ?? "").split("\n").entries()) {
    const code = /^(?:#+\s+|\|\s*(?=`\w+`\s*\|\s*\d{3}\b))`([a-z][a-z0-9_]*)`/.exec(line)?.[1];
    if (code === undefined) continue;
    if (documented.has(code)) {
      const message = `error code ${code} has a second entry`;
      violations.push({ file: ERRORS_PAGE, line: index + 1, message });
    }
    documented.set(code, index + 1);
  }
  for (const code of codes) {
    if (documented.has(code)) continue;
    const message = `error code ${code} is not documented`;
    violations.push({ file: ERRORS_PAGE, line: 1, message });
  }
  for (const [code, line] of documented) {
    if (codes.includes(code)) continue;
    violations.push({ file: ERRORS_PAGE, line, message: `no code ${code} in problems.ts` });
  }
  return violations;
}

/**
 * An option is documented if the page contains its name or its flag in backticks.
 *
 * @param page undefined when there is no such page
 */
export function optionsDocumented(names: readonly string[], page: string | undefined): Violation[] {
  const words = [...(page ?? "").matchAll(/`(?:--)?([^`\s]+)[^`\n]*`/g)].map((match) => match[1]);
  return names
    .filter((name) => !words.includes(name))
    .map((name) => ({ file: CONFIG_PAGE, line: 1, message: `option ${name} is not documented` }));
}
