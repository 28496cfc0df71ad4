/**
 * Seals the audit log: new entries every second, late entries every few minutes, and a full scan
 * once a day. Any replica may seal: it locks the row of a log while it appends to the log.
 */

import type { KeyObject } from "node:crypto";
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import {
  claimRescans,
  type Rescan,
  recordFullScan,
  recordRescan,
} from "../operations/audit/claimRescans.ts";
import { listUnsealedLogs } from "../operations/audit/listUnsealedLogs.ts";
import { type RecentSeal, sealEntries } from "../operations/audit/sealEntries.ts";
import { sealLateEntries } from "../operations/audit/sealLateEntries.ts";
import { RecentlyUsed } from "../recently-used.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

const INTERVAL_MS = 1_000;

/** Between two batches, so that requests are served in between. */
const BATCH_PAUSE_MS_MIN = 2;

/**
 * Pause after a batch, as a multiple of its duration: a large backlog, for example after an update,
 * uses a quarter of the time and leaves the rest for requests.
 */
const BATCH_PAUSE_SHARE = 3;

/** Parts of a scan between two records of its progress. */
const STEPS_PER_RECORD = 50;

/** Maximum cached keys, at about 500 bytes each. */
const KEYS_MAX = 1_000;

export function startSealing({ clock, ...rest }: Context, report: Report): Worker {
  const sealer = new Sealer({ clock, ...rest }, report);
  const every = { name: "audit", intervalMs: INTERVAL_MS, firstDelayMs: INTERVAL_MS };
  const start = (run: () => Promise<undefined>) => new TimerLoop(clock, report, { ...every, run });
  const sealing = start(() => sealer.sealAll());
  // Concurrent with the sealing, because the scan of a large log takes long.
  const late = start(() => sealer.sealLate());
  return {
    async stop() {
      sealer.stop();
      await Promise.all([sealing.stop(), late.stop()]);
    },
  };
}

class Sealer {
  isStopped = false;
  readonly #context: Context;
  readonly #report: Report;
  readonly #keys = new RecentlyUsed<string, KeyObject>(KEYS_MAX);
  /** By project. */
  #recentSeal = new Map<string, RecentSeal>();
  /** True when the store failed for the previous log. */
  #hasStoreFailed = false;
  /** Ends running pauses. */
  readonly #pauses = new Set<() => void>();

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
  }

  /** Seals all unsealed entries. */
  async sealAll(): Promise<undefined> {
    const recentSeal = new Map<string, RecentSeal>();
    for (const projectId of await listUnsealedLogs(this.#context)) {
      if (this.isStopped) return undefined;
      const seen = await this.#guardPerLog(() => this.#seal(projectId));
      if (seen !== undefined) recentSeal.set(projectId, seen);
    }
    // Drops the state of logs without new entries.
    this.#recentSeal = recentSeal;
    return undefined;
  }

  /** A damaged log, or a log without its key, does not block the others. */
  async #guardPerLog<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work();
      this.#hasStoreFailed = false;
      return done;
    } catch (error) {
      const isStore = error instanceof Failure && error.dependency === "store";
      // Two failures in a row: the database fails, so every further log would repeat the report.
      if (isStore && this.#hasStoreFailed) throw error;
      this.#hasStoreFailed = isStore;
      this.#report.dependencyFailed("audit", error);
      return undefined;
    }
  }

  async #seal(projectId: string): Promise<RecentSeal | undefined> {
    const [context, keys] = [this.#context, this.#keys];
    let [recentSeal, next] = [this.#recentSeal.get(projectId), undefined as string | undefined];
    // A failed call may have consumed it.
    this.#recentSeal.delete(projectId);
    do {
      const startedAt = context.clock.monotonic();
      const step = await sealEntries(context, keys, projectId, recentSeal, next);
      [recentSeal, next] = [step.recentSeal, step.next];
      this.#report.entriesSealed(step.sealed);
      if (next !== undefined) await this.#pause(context.clock.monotonic() - startedAt);
    } while (next !== undefined && !this.isStopped);
    return recentSeal;
  }

  /** Seals late entries. Runs a full scan when that is due. */
  async sealLate(): Promise<undefined> {
    for (const rescan of await claimRescans(this.#context)) {
      await this.#guardPerLog(() => this.#rescan(rescan));
    }
    return undefined;
  }

  async #rescan(rescan: Rescan): Promise<void> {
    const { projectId, range, isFullScan } = rescan;
    const context = this.#context;
    let after: string | undefined = range.after;
    for (let steps = 1; after !== undefined && !this.isStopped; steps++) {
      const part = { ...range, after };
      const startedAt = context.clock.monotonic();
      const step = await sealLateEntries(context, this.#keys, projectId, part);
      if (step.sealed > 0) this.#report.lateEntriesSealed(projectId, step.sealed);
      after = step.next;
      const isRecorded = after === undefined || steps % STEPS_PER_RECORD === 0;
      if (isFullScan && isRecorded) await recordFullScan(context, projectId, after);
      if (after !== undefined) await this.#pause(context.clock.monotonic() - startedAt);
    }
    if (after === undefined) await recordRescan(context, rescan);
  }

  #pause(tookMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#pauses.delete(end);
        resolve();
      };
      this.#pauses.add(end);
      this.#context.clock.after(Math.max(BATCH_PAUSE_MS_MIN, tookMs * BATCH_PAUSE_SHARE), end);
    });
  }

  stop(): void {
    this.isStopped = true;
    for (const end of this.#pauses) end();
  }
}
