/**
 * The reference says what the code says: every error code and every option has its line, and no
 * error code is documented that the server does not send.
 */

import type { Violation } from "./source.ts";

export const ERRORS_PAGE = "docs/reference/errors.md";
export const CONFIG_PAGE = "docs/reference/config.md";

/**
 * A code is documented where it opens a row of a table or a heading, in backticks.
 *
 * @param page undefined when there is no such page
 */
export function errorsDocumented(codes: readonly string[], page: string | undefined): Violation[] {
  const documented = new Map<string, number>();
  for (const [index, line] of (page ?? "").split("\n").entries()) {
    const code = /^(?:\|\s*|#+\s+)`([a-z][a-z0-9_]*)`/.exec(line)?.[1];
    if (code !== undefined) documented.set(code, index + 1);
  }
  const violations: Violation[] = [];
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
 * An option is documented where its name stands in backticks, as it is or as a flag.
 *
 * @param page undefined when there is no such page
 */
export function optionsDocumented(names: readonly string[], page: string | undefined): Violation[] {
  const words = [...(page ?? "").matchAll(/`(?:--)?([^`\s]+)[^`\n]*`/g)].map((match) => match[1]);
  return names
    .filter((name) => !words.includes(name))
    .map((name) => ({ file: CONFIG_PAGE, line: 1, message: `option ${name} is not documented` }));
}
