/**
 * Names of groups as they are stored: a JSON array in a text column.
 */

import type { Row } from "../store.ts";

const NO_NAMES: readonly string[] = [];

export function parseNames(value: Row[string] | undefined): readonly string[] {
  return value === "[]" ? NO_NAMES : (JSON.parse(value as string) as string[]);
}

/** @returns JSON text; each name once, sorted */
export function writeNames(names: readonly string[]): string {
  return JSON.stringify([...new Set(names)].sort());
}
