/** Writes the state of a project as documents. */

import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { usageError } from "@countersign/command-line";
import { stringify } from "yaml";
import type { Actual } from "./actual.ts";
import type { Kind } from "./kind.ts";

export interface WrittenExport {
  readonly files: readonly string[];
  readonly notes: readonly string[];
}

/**
 * Writes one file for each kind that the project has, and the texts of policies.
 *
 * @throws CommandError when the directory is not empty
 */
export function writeExport(
  directory: string,
  kinds: readonly Kind[],
  actual: Actual,
): WrittenExport {
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw usageError(`${directory} is not empty; choose a new directory`);
  }
  const files = new Map<string, string>();
  const notes: string[] = [];
  for (const kind of kinds) {
    const exported = kind.export?.(actual);
    if (exported === undefined) continue;
    const texts = exported.documents.map((document) => stringify(document));
    if (texts.length > 0) files.set(kind.file, texts.join("---\n"));
    for (const [name, text] of Object.entries(exported.files ?? {})) files.set(name, text);
    notes.push(...(exported.notes ?? []));
  }
  for (const [name, text] of files) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return { files: [...files.keys()], notes };
}
