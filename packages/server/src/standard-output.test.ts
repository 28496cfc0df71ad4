import assert from "node:assert/strict";
import fs from "node:fs";
import { type TestContext, test } from "node:test";
import { Report } from "./report.ts";

type Done = (error: Error | null, written?: number) => void;

/** Standard output. */
class Output {
  /** Completed writes. */
  readonly written: string[] = [];
  /** How many of the next writes fail. */
  failures = 0;
  failure: NodeJS.ErrnoException = new Error("ENOSPC: no space left on device, write");
  /** While true, no write completes. */
  isHeld = false;
  readonly #held: (() => void)[] = [];

  constructor(t: TestContext) {
    t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
    t.mock.method(fs, "write", (_: number, text: string, ...rest: unknown[]) => {
      const complete = () => this.#complete(text, rest.at(-1) as Done);
      if (this.isHeld) this.#held.push(complete);
      else complete();
    });
  }

  release(): void {
    this.isHeld = false;
    for (const complete of this.#held.splice(0)) complete();
  }

  #complete(text: string, done: Done): void {
    if (this.failures > 0) {
      this.failures--;
      done(this.failure);
    } else {
      this.written.push(text);
      done(null, Buffer.byteLength(text));
    }
  }
}

test("a line is written within 250 ms, and nothing is written without a line", (t) => {
  const { written } = new Output(t);
  const report = new Report("info");
  t.mock.timers.tick(10_000);
  assert.deepEqual(written, []);
  report.wakeListening();
  report.telemetryRestored();
  t.mock.timers.tick(249);
  assert.deepEqual(written, []);
  t.mock.timers.tick(1);
  assert.match(written.join(""), /"wake.listening".*\n.*"telemetry.restored".*\n$/);
  t.mock.timers.tick(250);
  const { length } = written;
  t.mock.timers.tick(10_000);
  assert.equal(written.length, length);
});

test("a line that could not be written is tried again", (t) => {
  const output = new Output(t);
  output.failures = 2;
  new Report("info").wakeListening();
  t.mock.timers.tick(250);
  t.mock.timers.tick(250);
  assert.deepEqual(output.written, []);
  t.mock.timers.tick(250);
  assert.match(output.written.join(""), /"wake.listening"/);
});

test("a line that has no reader is not tried again", (t) => {
  const output = new Output(t);
  output.failures = 9;
  output.failure = Object.assign(new Error("broken pipe"), { code: "EPIPE" });
  new Report("info").wakeListening();
  t.mock.timers.tick(250);
  assert.equal(output.failures, 8);
  for (let i = 0; i < 10; i++) t.mock.timers.tick(250);
  assert.equal(output.failures, 8);
});

test("a line that arrives during a slow write is written after it", (t) => {
  const output = new Output(t);
  const report = new Report("info");
  output.isHeld = true;
  report.wakeListening();
  t.mock.timers.tick(250);
  report.telemetryRestored();
  t.mock.timers.tick(10_000);
  output.release();
  t.mock.timers.tick(250);
  assert.match(output.written.join(""), /"wake.listening".*\n.*"telemetry.restored".*\n$/);
});

test("a stop writes the lines that arrive during a slow write", async (t) => {
  const output = new Output(t);
  const report = new Report("info");
  output.isHeld = true;
  report.wakeListening();
  t.mock.timers.tick(250);
  const stopped = report.stopped();
  output.release();
  await stopped;
  assert.match(output.written.join(""), /"wake.listening".*\n.*"server.stopped".*\n$/);
});

test("a stop writes the lines of a write that failed once during it", async (t) => {
  const output = new Output(t);
  const report = new Report("info");
  output.isHeld = true;
  report.wakeListening();
  t.mock.timers.tick(250);
  output.failures = 1;
  const stopped = report.stopped();
  output.release();
  await stopped;
  assert.match(output.written.join(""), /"wake.listening".*\n.*"server.stopped".*\n$/);
});
