/**
 * A disk that takes nothing more, for one process on any machine: the limit on the size of its
 * files. A write fails as it does on a disk that is full or has become read-only, and may
 * succeed again later.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import type { Answer } from "@countersign/testing/agents";
import type { Server } from "@countersign/testing/countersign";

/** Takes the limit away from the running process, like an operator who cleans up a disk. */
export function makeRoom({ process: { pid } }: Server): void {
  execFileSync("prlimit", ["--pid", String(pid), "--fsize=unlimited:"]);
}

/** From now on the running process cannot write a single byte to a file. */
export function takeAllRoom({ process: { pid } }: Server): void {
  execFileSync("prlimit", ["--pid", String(pid), "--fsize=0:"]);
}

export function assertUnavailable(answer: Answer): void {
  assert.equal(answer.status, 503, answer.text);
  const { error } = answer.json as { error: { type: string; code: string } };
  assert.deepEqual([error.type, error.code], ["dependency", "unavailable"]);
  assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
}
