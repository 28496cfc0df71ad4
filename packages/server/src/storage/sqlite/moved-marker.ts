/**
 * Marks a data folder whose database was moved elsewhere: served again beside the other one, it
 * would decide the same requests a second time.
 *
 * The mark is set right before the other database is committed and named anew right after. So a
 * folder without a mark was not moved; with the first mark, only the target shows whether it was.
 */

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../failure.ts";
import { syncFolder } from "../../sync-folder.ts";

/** The mark of a folder; undefined when it has none. */
export type Mark = "moving" | "moved" | undefined;

const FILES = { moving: "MOVING", moved: "MOVED" } as const;

export function markOf(dataDirectory: string): Mark {
  for (const mark of ["moved", "moving"] as const) {
    if (existsSync(markFile(dataDirectory, mark))) return mark;
  }
  return undefined;
}

/** Where a folder that is marked as moving is, or may be, moved to; as {@link markMoving} says. */
export function targetOf(dataDirectory: string): string | undefined {
  const text = readFileSync(markFile(dataDirectory, "moving"), "utf8");
  return TARGET.exec(text)?.[1];
}

const TARGET = /^The database in this folder was moved to (.+)$/m;

/** @throws Failure when the database in this folder is, or may be, another one's past */
export function assertNotMoved(dataDirectory: string): void {
  const mark = markOf(dataDirectory);
  if (mark === undefined) return;
  const file = markFile(dataDirectory, mark);
  throw new Failure("store", `the database in ${dataDirectory} ${SAYS[mark](file)}`);
}

const SAYS = {
  moving: (file: string) =>
    "may be in PostgreSQL already, because its import was interrupted: repeat the same " +
    `countersign import, which checks that (${file})`,
  moved: (file: string) =>
    "was moved to PostgreSQL: set COUNTERSIGN_DATABASE_URL to the URL in " +
    `${file}; serving it here as well would decide requests twice`,
};

/** @param target where the database is moved to, without a password */
export function markMoving(dataDirectory: string, target: string): void {
  const text =
    `The database in this folder was moved to ${target}\n` +
    "by `countersign import`. Serve it from there. The files here are kept as a copy of that\n" +
    "moment; a server refuses to start on them as long as this file is here.\n";
  const file = markFile(dataDirectory, "moving");
  writeFileSync(file, text, { mode: 0o600, flush: true });
  syncFolder(dataDirectory);
}

export function markMoved(dataDirectory: string): void {
  renameSync(markFile(dataDirectory, "moving"), markFile(dataDirectory, "moved"));
  syncFolder(dataDirectory);
}

function markFile(dataDirectory: string, mark: keyof typeof FILES): string {
  return join(dataDirectory, FILES[mark]);
}
