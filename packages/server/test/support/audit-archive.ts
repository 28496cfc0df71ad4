/** Steps of tests about the archive of the audit log. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { SinkKind } from "../../src/core/audit-stream.ts";
import type { Checkpoint } from "../../src/core/signed-note.ts";
import { archiveDatabase, type LogArchive } from "../../src/index.ts";
import { PRUNED_AGE_MS_MIN } from "../../src/maintenance/archive-database.ts";
import { verifyDatabase } from "../../src/maintenance/verify-database.ts";
import { type Logged, logOf, storeOf } from "./audit-logs.ts";

export interface ArchiveSteps {
  readonly directory: string;
  readonly prunes?: boolean;
  readonly sinks?: readonly SinkKind[];
  readonly without?: readonly SinkKind[];
  /** Called after each slice of a prune. */
  readonly onProgress?: (what: string) => void;
}

/** As `countersign audit archive` does, at a time at which all present entries can be pruned. */
export async function archiveAll(
  scene: Logged,
  { directory, prunes = false, sinks = [], without = [], onProgress }: ArchiveSteps,
): Promise<LogArchive[]> {
  const store = storeOf(scene);
  const now = scene.clock.now() + 2 * PRUNED_AGE_MS_MIN;
  const log = (name = "") => logOf(scene, name);
  const database = { reader: store, writer: store, clock: { now: () => now }, log };
  const options = {
    directory,
    before: now - PRUNED_AGE_MS_MIN,
    prunes,
    sinks,
    without,
    onProgress: (_: string | undefined, what: string) => onProgress?.(what),
  };
  return Array.fromAsync(archiveDatabase(database, options));
}

/** As `countersign audit verify --archive` does. */
export async function verifyWith(scene: Logged, archive?: string, older?: Checkpoint) {
  const reader = storeOf(scene);
  const log = (name = "") => logOf(scene, name);
  return verifyDatabase({ reader, clock: scene.clock, log }, { archive, older });
}

/** Paths of the archive files of a log, in order. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl.gz"))
    .sort()
    .map((name) => join(folder, name));
}
