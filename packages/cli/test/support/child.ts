/**
 * Child processes of tests: what they print is collected, what is awaited is an event, and none
 * outlives the test that started it.
 */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { after } from "node:test";

/** Whoever started something and ends it: the context of a test, or a whole file of tests. */
export interface Owner {
  after(end: () => Promise<void>): void;
}

/** What all tests of a file share ends after the last of them. To be called outside of hooks. */
export function fileOwner(): Owner {
  const ends: (() => Promise<void>)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  return { after: (end) => void ends.push(end) };
}

export interface Outcome {
  /** Null when a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Far above what anything here takes; a test that hangs ends with what was printed so far. */
const WAIT_MS_MAX = 30_000;

const children = new WeakMap<Owner, Set<Child>>();

const alive = new Set<Child>();

// Also when the run of the tests itself is cut short.
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

  constructor(
    owner: Owner,
    command: readonly string[],
    options: { readonly env: NodeJS.ProcessEnv; readonly cwd?: string },
  ) {
    const [file = "", ...args] = command;
    this.#process = spawn(file, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    for (const name of ["stdout", "stderr"] as const) {
      this.#process[name].setEncoding("utf8").on("data", (text: string) => {
        this[name] += text;
        this.#change();
      });
    }
    this.#ended = new Promise((resolve, reject) => {
      this.#process.once("error", reject);
      this.#process.once("close", (code) => {
        this.#hasEnded = true;
        alive.delete(this);
        this.#change();
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
      });
    });
    own(owner, this);
  }

  get pid(): number {
    const { pid } = this.#process;
    assert.ok(pid !== undefined, "the process did not start");
    return pid;
  }

  /** Settles when it has ended, however long that takes; never rejects. */
  get exited(): Promise<void> {
    return this.#ended.then(
      () => {},
      () => {},
    );
  }

  /** Waits until what was printed matches. */
  async prints(stream: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray> {
    const bound = AbortSignal.timeout(WAIT_MS_MAX);
    bound.addEventListener("abort", () => this.#change());
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match !== null) return match;
      const printed = `${this.stdout}\n${this.stderr}`;
      assert.ok(!this.#hasEnded, `the process ended and never printed ${pattern}:\n${printed}`);
      assert.ok(!bound.aborted, `the process does not print ${pattern}:\n${printed}`);
      await this.#changed.promise;
    }
  }

  /** Waits until it has ended by itself and all that it printed has arrived. */
  async ends(): Promise<Outcome> {
    let isStuck = false;
    const bound = setTimeout(() => {
      isStuck = true;
      this.#process.kill("SIGKILL");
    }, WAIT_MS_MAX);
    const outcome = await this.#ended.finally(() => clearTimeout(bound));
    assert.ok(!isStuck, `the process does not end:\n${outcome.stdout}\n${outcome.stderr}`);
    return outcome;
  }

  /** Sends a signal, and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Outcome> {
    if (!this.#hasEnded) this.#process.kill(signal);
    return this.ends();
  }

  /** Closes the reader's end of stdout, as `head` does. */
  stopReading(): void {
    this.#process.stdout.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  #change(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

/** A folder that goes when its owner ends, after every child of the owner has ended. */
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
    // One that could not be started has nothing to end.
    await child.end("SIGKILL").catch(() => {});
  }
}
