/**
 * Child processes of tests. Their output is collected, waits are for events, and no process
 * outlives the test that started it.
 */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after } from "node:test";

/** Runs cleanup when it ends: a test context, or a whole test file. */
export interface Owner {
  after(end: () => Promise<void>): void;
}

/** The owner of resources that all tests of a file share. Call it outside of hooks. */
export function fileOwner(): Owner {
  const ends: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  return { after: (end) => void ends.push(end) };
}

export interface Outcome {
  /** Null when a signal stopped the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Far above the time of any process here. A test that hangs fails with the output so far. */
const WAIT_MS_MAX = 30_000;

export interface ChildOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Signals go to the process and to all processes that it starts. */
  readonly isGroup?: boolean;
}

const children = new WeakMap<Owner, Set<Child>>();

const alive = new Set<Child>();

// Also when the test run itself is interrupted.
process.on("exit", () => {
  for (const child of alive) child.signal("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

export class Child {
  stdout = "";
  stderr = "";
  readonly #ended: Promise<Outcome>;
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  #hasEnded = false;
  #changed = Promise.withResolvers<void>();
  readonly #isGroup: boolean;

  constructor(owner: Owner, command: readonly string[], options: ChildOptions) {
    const [file = "", ...args] = command;
    const { isGroup = false, ...rest } = options;
    this.#isGroup = isGroup;
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    this.#process = spawn(file, args, { ...rest, detached: isGroup, stdio });
    for (const name of ["stdout", "stderr"] as const) {
      this.#process[name].setEncoding("utf8").on("data", (text: string) => {
        this[name] += text;
        this.#change();
      });
    }
    this.#ended = new Promise((resolve, reject) => {
      this.#process.once("error", (error) => {
        if (this.#process.pid !== undefined) return;
        this.stderr += error.message;
        this.#markEnded();
        reject(error);
      });
      this.#process.once("close", (code) => {
        // Processes of the group that closed their output may still run.
        this.signal("SIGKILL");
        this.#markEnded();
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
      });
    });
    // Without a caller that waits for the end, the rejection would be unhandled.
    this.#ended.catch(() => {});
    own(owner, this);
  }

  get pid(): number {
    const { pid } = this.#process;
    assert.ok(pid !== undefined, "the process did not start");
    return pid;
  }

  /** Resolves when the process has ended, without a time limit. Never rejects. */
  get exited(): Promise<void> {
    return this.#ended.then(
      () => {},
      () => {},
    );
  }

  /**
   * Waits until the output matches.
   *
   * @param waitMs a longer limit for slow operations
   */
  async prints(
    stream: "stdout" | "stderr",
    pattern: RegExp,
    waitMs = WAIT_MS_MAX,
  ): Promise<RegExpExecArray> {
    const bound = AbortSignal.timeout(waitMs);
    bound.addEventListener("abort", () => this.#change());
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match !== null) return match;
      const printed = `${this.stdout}\n${this.stderr}`;
      assert.ok(!this.#hasEnded, `the process ended without printing ${pattern}:\n${printed}`);
      assert.ok(!bound.aborted, `the process did not print ${pattern} in time:\n${printed}`);
      await this.#changed.promise;
    }
  }

  /**
   * Waits until the process has ended by itself and all of its output has arrived.
   *
   * @param waitMs after this time, the process is killed and the promise rejects
   */
  async ends(waitMs = WAIT_MS_MAX): Promise<Outcome> {
    let isStuck = false;
    const bound = setTimeout(() => {
      isStuck = true;
      this.signal("SIGKILL");
      // A process that this one started may keep the output open.
      this.#process.stdout.destroy();
      this.#process.stderr.destroy();
    }, waitMs);
    const outcome = await this.#ended.finally(() => clearTimeout(bound));
    assert.ok(!isStuck, `the process did not end in time:\n${outcome.stdout}\n${outcome.stderr}`);
    return outcome;
  }

  /** Sends a signal, and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Outcome> {
    this.signal(signal);
    return this.ends();
  }

  /** Closes the reader's end of stdout, as `head` does. */
  stopReading(): void {
    this.#process.stdout.destroy();
  }

  /** Does nothing after the end, because another process may then have the same id. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (this.#hasEnded || pid === undefined) return;
    if (!this.#isGroup) {
      this.#process.kill(signal);
      return;
    }
    try {
      process.kill(-pid, signal);
    } catch (error) {
      // No process of the group is left.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  #markEnded(): void {
    this.#hasEnded = true;
    alive.delete(this);
    this.#change();
  }

  #change(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

/** A folder that is deleted when its owner ends, after every child of the owner has ended. */
export function temporaryFolder(owner: Owner, name = "countersign-test-"): string {
  const folder = mkdtempSync(join(tmpdir(), name));
  owner.after(async () => {
    await endAll(owner);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

function own(owner: Owner, child: Child): void {
  const owned = children.get(owner) ?? new Set();
  children.set(owner, owned.add(child));
  alive.add(child);
  if (owned.size === 1) owner.after(() => endAll(owner));
}

async function endAll(owner: Owner): Promise<void> {
  for (const child of children.get(owner) ?? []) {
    // A process that could not start has nothing to stop.
    await child.end("SIGKILL").catch(() => {});
  }
}
