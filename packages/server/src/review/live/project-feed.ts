/**
 * The hints of one project for the streams of this process. A signal becomes a hint immediately. A
 * scan every second finds changes without a signal: requests that another replica opened or
 * resolved, and freezes. So a lost signal delays a hint by at most one second.
 */

import type { Context } from "../../context.ts";
import { freezeAppliesTo, scanProject } from "../../operations/live/scanProject.ts";
import type { Signal } from "../../wake/wake.ts";

const SCAN_MS = 1_000;

export type FeedHint =
  | {
      readonly kind: "request";
      readonly id: string;
      /** The only reviewer whose view changed; undefined: every view changed. */
      readonly reviewerId?: string;
    }
  | { readonly kind: "freezes" };

export type FeedListener = (hint: FeedHint) => void;

/** A request that one of these resolves at its creation was never pending. */
const AUTOMATIC: readonly string[] = ["policy", "grant", "freeze"];

export class ProjectFeed {
  readonly projectId: string;
  /** Resolves after the first scan. */
  readonly opened: Promise<void>;
  readonly #context: Context;
  readonly #onFailure: (error: unknown) => void;
  readonly #followers = new Set<FeedListener>();
  #pending = new Set<string>();
  #freezes = "";
  #isDue = false;
  #isScanning = false;
  #isClosed = false;
  #cancel = () => {};

  constructor(context: Context, projectId: string, onFailure: (error: unknown) => void) {
    this.#context = context;
    this.projectId = projectId;
    this.#onFailure = onFailure;
    this.opened = this.#open();
    // Each follower awaits it and reports the failure.
    this.opened.catch(() => {});
  }

  get followers(): number {
    return this.#followers.size;
  }

  /** @returns removes the listener */
  follow(follower: FeedListener): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  receive(signal: Signal): void {
    switch (signal.kind) {
      case "opened":
        if (signal.projectId !== this.projectId) return;
        this.#pending.add(signal.requestId);
        this.#send({ kind: "request", id: signal.requestId });
        return;
      case "escalated":
        if (signal.projectId !== this.projectId) return;
        this.#send({ kind: "request", id: signal.requestId });
        return;
      case "voted":
        if (signal.projectId !== this.projectId) return;
        this.#send({ kind: "request", id: signal.requestId });
        // A signal of another replica can represent several requests.
        void this.#scan();
        return;
      case "delayed": {
        const { projectId, requestId: id, reviewerId } = signal;
        if (projectId === this.projectId) this.#send({ kind: "request", id, reviewerId });
        return;
      }
      case "resolved": {
        if (signal.projectId !== this.projectId) return;
        const wasPending = this.#pending.delete(signal.requestId);
        if (!wasPending && AUTOMATIC.includes(signal.by)) return;
        this.#send({ kind: "request", id: signal.requestId });
        return;
      }
      case "ended":
        if (!this.#pending.delete(signal.requestId)) return;
        this.#send({ kind: "request", id: signal.requestId });
        return;
      case "frozen":
        if (freezeAppliesTo(signal.projectId, this.projectId)) void this.#scan();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  async #open(): Promise<void> {
    const { pending = new Set(), freezes } = await scanProject(this.#context, this.projectId);
    this.#pending = new Set(pending);
    this.#freezes = freezes;
    this.#scanLater();
  }

  #scanLater(): void {
    if (this.#isClosed) return;
    this.#cancel = this.#context.clock.after(SCAN_MS, () => {
      void this.#scan();
      this.#scanLater();
    });
  }

  /** One scan at a time. A request during a scan starts another one after it. */
  async #scan(): Promise<void> {
    this.#isDue = true;
    if (this.#isScanning) return;
    this.#isScanning = true;
    try {
      await this.opened;
      while (this.#isDue && !this.#isClosed) {
        this.#isDue = false;
        await this.#compare();
      }
    } catch (error) {
      this.#onFailure(error);
    } finally {
      this.#isScanning = false;
    }
  }

  async #compare(): Promise<void> {
    // A signal during the scan is newer than its result.
    const before = new Set(this.#pending);
    const { pending, freezes } = await scanProject(this.#context, this.projectId);
    if (freezes !== this.#freezes) {
      this.#freezes = freezes;
      this.#send({ kind: "freezes" });
    }
    if (pending === undefined) return;
    for (const id of pending) {
      if (before.has(id) || this.#pending.has(id)) continue;
      this.#pending.add(id);
      this.#send({ kind: "request", id });
    }
    for (const id of before) {
      if (!pending.has(id) && this.#pending.delete(id)) this.#send({ kind: "request", id });
    }
  }

  #send(hint: FeedHint): void {
    for (const follower of [...this.#followers]) follower(hint);
  }
}
