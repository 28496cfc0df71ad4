/**
 * Seals the audit log: every second what is new in it, wherever that was committed; every few
 * minutes what was committed late; once a day a look over everything. Any replica does it, and
 * none is asked for leave: the row of a log is held while something is appended to it.
 */

import type { KeyObject } from "node:crypto";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { claimLooks, type Look, recordLook, recordWalk } from "../operations/audit/claimLooks.ts";
import { listUnsealedLogs } from "../operations/audit/listUnsealedLogs.ts";
import { type SealedLately, sealEntries } from "../operations/audit/sealEntries.ts";
import { sealStragglers } from "../operations/audit/sealStragglers.ts";
import { RecentlyUsed } from "../recently-used.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS = 1_000;

/** Between two batches, so that requests are served in between. */
const BREATH_MS_MIN = 2;

/**
 * Of the time that a batch took: a log that is far behind, as after an update, is sealed with a
 * quarter of the time, and the rest is for requests.
 */
const BREATH_SHARE = 3;

/** Parts of a walk, between two records of how far it has come. */
const STEPS_PER_RECORD = 50;

/** About 500 bytes each. */
const KEYS_MAX = 1_000;

export function startSealing(context: Context, report: Report): Worker {
  const { clock } = context;
  const sealer = new Sealer(context, report);
  let sealing: Promise<void> = Promise.resolve();
  let looking: Promise<void> | undefined;
  let cancel = () => {};

  function sleep(): void {
    if (sealer.isStopped) return;
    cancel = clock.after(SLEEP_MS, () => {
      sealing = work();
    });
  }

  async function work(): Promise<void> {
    try {
      await sealer.sealAll();
      looking ??= look();
    } catch (error) {
      report.dependencyFailed("audit", error);
    }
    sleep();
  }

  /** Beside the sealing: over a large log it takes its time. */
  async function look(): Promise<void> {
    try {
      await sealer.lookForLate();
    } catch (error) {
      report.dependencyFailed("audit", error);
    }
    looking = undefined;
  }

  sleep();

  return {
    async stop() {
      cancel();
      sealer.stop();
      await sealing;
      await looking;
    },
  };
}

class Sealer {
  isStopped = false;
  readonly #context: Context;
  readonly #report: Report;
  readonly #keys = new RecentlyUsed<string, KeyObject>(KEYS_MAX);
  /** By project. */
  #lately = new Map<string, SealedLately>();
  /** For the log before. */
  #hasStoreFailed = false;
  /** Ends the breath that somebody takes. */
  readonly #breaths = new Set<() => void>();

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
  }

  /** Everything that is there to be sealed. */
  async sealAll(): Promise<void> {
    const lately = new Map<string, SealedLately>();
    for (const projectId of await listUnsealedLogs(this.#context)) {
      if (this.isStopped) return;
      const seen = await this.#despite(() => this.#seal(projectId));
      if (seen !== undefined) lately.set(projectId, seen);
    }
    // What is not written to any more need not be remembered.
    this.#lately = lately;
  }

  /** One log that is damaged, or without its key, is in no other's way. */
  async #despite<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work();
      this.#hasStoreFailed = false;
      return done;
    } catch (error) {
      const isStore = error instanceof Failure && error.dependency === "store";
      // Twice in a row: it is the database, and every log would only say so once more.
      if (isStore && this.#hasStoreFailed) throw error;
      this.#hasStoreFailed = isStore;
      this.#report.dependencyFailed("audit", error);
      return undefined;
    }
  }

  async #seal(projectId: string): Promise<SealedLately | undefined> {
    const [context, keys] = [this.#context, this.#keys];
    let [lately, next] = [this.#lately.get(projectId), undefined as string | undefined];
    // A call that fails may have used it up.
    this.#lately.delete(projectId);
    do {
      const begunAt = context.clock.monotonic();
      const step = await sealEntries(context, keys, projectId, lately, next);
      [lately, next] = [step.lately, step.next];
      this.#report.entriesSealed(step.sealed);
      if (next !== undefined) await this.#breathe(context.clock.monotonic() - begunAt);
    } while (next !== undefined && !this.isStopped);
    return lately;
  }

  /** Also over everything, when that is due. */
  async lookForLate(): Promise<void> {
    for (const look of await claimLooks(this.#context)) {
      await this.#despite(() => this.#look(look));
    }
  }

  async #look(look: Look): Promise<void> {
    const { projectId, range, isWalk } = look;
    const context = this.#context;
    let after: string | undefined = range.after;
    for (let steps = 1; after !== undefined && !this.isStopped; steps++) {
      const part = { ...range, after };
      const begunAt = context.clock.monotonic();
      const step = await sealStragglers(context, this.#keys, projectId, part);
      if (step.sealed > 0) this.#report.stragglersSealed(projectId, step.sealed);
      after = step.next;
      const isRecorded = after === undefined || steps % STEPS_PER_RECORD === 0;
      if (isWalk && isRecorded) await recordWalk(context, projectId, after);
      if (after !== undefined) await this.#breathe(context.clock.monotonic() - begunAt);
    }
    if (after === undefined) await recordLook(context, look);
  }

  #breathe(tookMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#breaths.delete(end);
        resolve();
      };
      this.#breaths.add(end);
      this.#context.clock.after(Math.max(BREATH_MS_MIN, tookMs * BREATH_SHARE), end);
    });
  }

  stop(): void {
    this.isStopped = true;
    for (const end of this.#breaths) end();
  }
}
