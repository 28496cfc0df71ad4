/**
 * What happens in a project, for the streams of this process that follow it: one look for all of
 * them, at once when a signal says so and every second anyway. A look compares what the database
 * has with what was told, so a signal that is lost costs a second and nothing else.
 *
 * Called by: event-stream.ts.
 */

import type { Context } from "../../context.ts";
import type { ReviewedFreeze } from "../../operations/freezes/listFreezes.ts";
import {
  concerns,
  readFreezes,
  readWatched,
  type Standing,
  standingOf,
  wasPending,
  watchProject,
} from "../../operations/live/watchProject.ts";
import type { GatheredRequest } from "../../operations/requests/reviewRequests.ts";

const LOOK_MS = 1_000;

export type Change =
  | {
      readonly kind: "request";
      readonly step: "opened" | "changed" | "resolved";
      readonly gathered: GatheredRequest;
      /** Only these reviewers see a difference; undefined: everybody. */
      readonly only: ReadonlySet<string> | undefined;
    }
  | { readonly kind: "freezes"; readonly freezes: readonly ReviewedFreeze[] };

export type Follower = (change: Change) => void;

type Signal = Parameters<Parameters<Context["wake"]["onSignal"]>[0]>[0];

export class ProjectFeed {
  readonly #context: Context;
  readonly #onFailure: (error: unknown) => void;
  readonly projectId: string;
  readonly #followers = new Set<Follower>();
  /** What was told, by id. */
  readonly #known = new Map<string, Standing>();
  /** What is to be looked at. */
  readonly #touched = new Set<string>();
  #isForAll = false;
  #isForFreezes = false;
  #running: Promise<void> | undefined;
  #cancel = () => {};
  #isOver = false;
  /** Resolves when what is there at the beginning is known. */
  readonly begun: Promise<void>;
  /** How many are pending that no look goes through; 0 as long as one goes through all of them. */
  #counted = 0;
  freezes: readonly ReviewedFreeze[] = [];

  constructor(context: Context, projectId: string, onFailure: (error: unknown) => void) {
    this.#context = context;
    this.projectId = projectId;
    this.#onFailure = onFailure;
    this.begun = this.#begin();
    // Whoever follows is told of it.
    this.begun.catch(() => {});
  }

  /** How many are pending. */
  get pending(): number {
    return this.#counted === 0 ? this.#known.size : this.#counted;
  }

  get followers(): number {
    return this.#followers.size;
  }

  /** @returns ends it */
  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  hear(signal: Signal): void {
    switch (signal.kind) {
      case "opened":
      case "held":
        if (signal.projectId === this.projectId) this.#touch(signal.requestId);
        return;
      case "voted":
        if (signal.projectId !== this.projectId) return;
        // Of another replica: one was opened, and perhaps others.
        this.#isForAll = true;
        this.#touch(signal.requestId);
        return;
      case "resolved": {
        // What policy, a grant or a freeze answers at once nobody was told of.
        const isNews = this.#known.has(signal.requestId) || !AT_ONCE.includes(signal.by);
        if (signal.projectId === this.projectId && isNews) this.#touch(signal.requestId);
        return;
      }
      case "ended":
        if (this.#known.has(signal.requestId)) this.#touch(signal.requestId);
        return;
      case "frozen":
        if (!concerns(signal.projectId, this.projectId)) return;
        this.#isForFreezes = true;
        this.#wake();
    }
  }

  end(): void {
    this.#isOver = true;
    this.#cancel();
  }

  #touch(requestId: string): void {
    this.#touched.add(requestId);
    this.#wake();
  }

  #wake(): void {
    if (!this.#isOver) this.#running ??= this.#work();
  }

  async #begin(): Promise<void> {
    const { standings, pending, freezes } = await watchProject(this.#context, this.projectId);
    for (const [id, standing] of standings) this.#known.set(id, standing);
    this.#counted = standings.size === pending ? 0 : pending;
    this.freezes = freezes;
    this.#sleep();
  }

  #sleep(): void {
    if (this.#isOver) return;
    this.#cancel = this.#context.clock.after(LOOK_MS, () => {
      this.#isForAll = true;
      this.#wake();
      this.#sleep();
    });
  }

  async #work(): Promise<void> {
    try {
      await this.begun;
      while ((this.#isForAll || this.#isForFreezes || this.#touched.size > 0) && !this.#isOver) {
        await this.#look();
      }
    } catch (error) {
      // What was touched is found by the next look.
      this.#onFailure(error);
    }
    this.#running = undefined;
  }

  async #look(): Promise<void> {
    const ids = new Set(this.#touched);
    const [isForAll, isForFreezes] = [this.#isForAll, this.#isForFreezes];
    this.#touched.clear();
    this.#isForAll = false;
    this.#isForFreezes = false;
    if (isForAll) for (const id of await this.#differences()) ids.add(id);
    else if (isForFreezes) {
      this.#tellFreezes(await readFreezes(this.#context, this.projectId));
    }
    const gone = new Set(ids);
    for await (const gathered of readWatched(this.#context, this.projectId, [...ids])) {
      gone.delete(gathered.request.id);
      this.#tell(gathered);
    }
    for (const id of gone) this.#known.delete(id);
  }

  /** @returns ids of requests that are not what was told */
  async #differences(): Promise<readonly string[]> {
    const { standings, pending, freezes } = await watchProject(this.#context, this.projectId);
    // Of more than are looked at, those that are not there may be pending all the same.
    const isAll = standings.size === pending;
    this.#counted = isAll ? 0 : pending;
    this.#tellFreezes(freezes);
    const others = [...standings].filter(
      ([id, standing]) => !isSame(this.#known.get(id), standing),
    );
    const ended = isAll ? [...this.#known.keys()].filter((id) => !standings.has(id)) : [];
    return [...others.map(([id]) => id), ...ended];
  }

  #tellFreezes(freezes: readonly ReviewedFreeze[]): void {
    const ids = (list: readonly ReviewedFreeze[]) => list.map(({ freeze }) => freeze.id).join();
    const isNew = ids(freezes) !== ids(this.freezes);
    this.freezes = freezes;
    if (isNew) this.#send({ kind: "freezes", freezes });
  }

  #tell(gathered: GatheredRequest): void {
    const { request } = gathered;
    const before = this.#known.get(request.id);
    if (request.decision !== null) {
      this.#known.delete(request.id);
      if (before === undefined && !wasPending(request)) return;
      this.#send({ kind: "request", step: "resolved", gathered, only: undefined });
      return;
    }
    const standing = standingOf(gathered);
    this.#known.set(request.id, standing);
    if (isSame(before, standing)) return;
    const step = before === undefined ? "opened" : "changed";
    const isForAll = before?.votes !== standing.votes;
    const only = isForAll ? undefined : differing(before.held, standing.held);
    this.#send({ kind: "request", step, gathered, only });
  }

  #send(change: Change): void {
    for (const follower of [...this.#followers]) follower(change);
  }
}

const AT_ONCE: readonly string[] = ["policy", "grant", "freeze"];

function isSame(one: Standing | undefined, other: Standing): boolean {
  return one?.votes === other.votes && differing(one.held, other.held).size === 0;
}

/** Reviewers whose held verdicts are not the same. */
function differing(
  one: ReadonlyMap<string, number>,
  other: ReadonlyMap<string, number>,
): ReadonlySet<string> {
  const ids = new Set([...one.keys(), ...other.keys()]);
  return new Set([...ids].filter((id) => one.get(id) !== other.get(id)));
}
