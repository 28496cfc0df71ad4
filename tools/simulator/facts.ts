/**
 * The observed events: calls and responses, actions of receivers, and commits. The promises are
 * checked against them.
 */

import type { Database } from "./database.ts";
import type { Call } from "./exchange.ts";
import type { Faults } from "./faults.ts";
import type { Played } from "./network.ts";
import type { Arrival } from "./receivers.ts";
import type { Replica } from "./replica.ts";
import type { Commit, Snapshot } from "./snapshot.ts";
import type { World } from "./world.ts";

/** A message that a receiver has got, and that may not be over. */
export interface Attempt {
  readonly arrival: Arrival;
  readonly connection: object;
  /** {@link World.elapsedMs}. */
  readonly startedAt: number;
  isOver: boolean;
}

/** One of the promises, and how it is seen to hold. */
export interface Promised {
  readonly id: string;
  /** The promise in one sentence. */
  readonly says: string;
  onCommit?(facts: Facts, commit: Commit): void;
  onAnswer?(facts: Facts, played: Played): void;
  onArrival?(facts: Facts, arrival: Arrival): void;
  onLogLine?(facts: Facts, line: string): void;
  atEnd?(facts: Facts): void;
}

export class Facts {
  readonly world: World;
  readonly database: Database;
  readonly snapshot: Snapshot;
  readonly replicas: readonly Replica[];
  readonly faults: Faults;
  /** Bodies that were sent, by who may use the key, and the key. */
  readonly sent = new Map<string, Set<string>>();
  /** Bodies of provisionings and updates, by the name that they give. */
  readonly named = new Map<string, string>();
  /** Tokens of the reviewers who approved, by request; below, of the reviewers who denied. */
  readonly approvals = new Map<string, Set<string>>();
  readonly denials = new Map<string, Set<string>>();
  /** Ids of reviewers, by token. */
  readonly reviewers = new Map<string, string>();
  /** The instance of each token. */
  readonly holders = new Map<string, string>();
  /** Instances whose deletion was asked for; and {@link World.turns} when one was answered. */
  readonly deletionsRequested = new Set<string>();
  readonly deletionsConfirmed = new Map<string, number>();
  /** Registrations whose receiver has proved itself. */
  readonly proved = new Set<string>();
  /** Notifications that a receiver has saved. */
  readonly saved = new Set<string>();
  readonly secrets: ReadonlyMap<string, string>;
  /** By notification, the latest last. */
  readonly attempts = new Map<string, Attempt[]>();
  /** {@link Database.commits} when a claim was last checked, by notification. */
  readonly claimsSeen = new Map<string, number>();
  /** {@link Database.commits} of the last claim, by notification. */
  readonly claimedIn = new Map<string, number>();
  /** {@link Database.commits} of the one that ended deliveries, by instance. */
  readonly receiverRemoved = new Map<string, number>();
  /** The decision that was answered for a request, by its id. */
  readonly reported = new Map<string, string>();
  /** Ids that were given to a scope and key. */
  readonly firstObjects = new Map<
    string,
    { readonly id: string; readonly token: string | undefined }
  >();
  /** How often something was said to be new, by scope and key. */
  readonly news = new Map<string, number>();
  readonly #promises: readonly Promised[];

  constructor(
    parts: Pick<Facts, "world" | "database" | "snapshot" | "replicas" | "faults" | "secrets">,
    promises: readonly Promised[],
  ) {
    this.world = parts.world;
    this.database = parts.database;
    this.snapshot = parts.snapshot;
    this.replicas = parts.replicas;
    this.faults = parts.faults;
    this.secrets = parts.secrets;
    this.#promises = promises;
  }

  /** Whether clocks have been set so that times of replicas cannot be compared. */
  get areClocksSet(): boolean {
    const { clock, databaseClock, databaseLeap } = this.faults;
    return clock + databaseClock + databaseLeap > 0;
  }

  /** Whether the database's clock was lately set by more than the margin of a lease. */
  get wasClockSet(): boolean {
    return this.world.elapsedMs - this.world.clockSetAt < 60_000;
  }

  /** The owner of the key, and the key. */
  scopeOf(call: Call): string | undefined {
    if (call.kind === "create") return `${this.holders.get(call.token)} ${call.key}`;
    if (call.kind === "provision") return `provision ${call.key}`;
    if (call.kind === "update") return `update ${call.id} ${call.key}`;
    return undefined;
  }

  /** Before it leaves the client. */
  onCall(call: Call): void {
    const scope = this.scopeOf(call);
    if (scope !== undefined && "body" in call) add(this.sent, scope, call.body);
    if (call.kind === "delete") this.deletionsRequested.add(call.id);
    if (call.kind === "verdict") {
      const voters = call.verdict === "approve" ? this.approvals : this.denials;
      add(voters, call.id, this.reviewers.get(call.token) ?? "");
    }
    if (call.kind === "provision" || call.kind === "update") {
      const { instance_name: name } = JSON.parse(call.body) as { instance_name?: string };
      if (name !== undefined) this.named.set(JSON.stringify(name), call.body);
    }
  }

  onCommit(commit: Commit): void {
    for (const { table, key, before, after } of commit.changes) {
      const isClaim = table === "notification" && Number(after?.fence) > Number(before?.fence);
      if (isClaim) this.claimedIn.set(key, this.database.commits);
      if (table !== "receiver" || before === undefined || after !== undefined) continue;
      this.receiverRemoved.set(key, this.database.commits);
    }
    for (const promise of this.#promises) promise.onCommit?.(this, commit);
  }

  onAnswer(played: Played): void {
    for (const promise of this.#promises) promise.onAnswer?.(this, played);
    const { call, answer } = played;
    if (call.kind !== "delete" || answer.status !== 204) return;
    if (!this.deletionsConfirmed.has(call.id))
      this.deletionsConfirmed.set(call.id, this.world.turns);
  }

  onArrival(arrival: Arrival, connection: object): void {
    if (!arrival.body.includes('"request.resolved"')) return;
    for (const promise of this.#promises) promise.onArrival?.(this, arrival);
    const attempts = this.attempts.get(arrival.id) ?? [];
    const startedAt = this.world.elapsedMs;
    this.attempts.set(arrival.id, [...attempts, { arrival, connection, startedAt, isOver: false }]);
  }

  onOver(connection: object): void {
    for (const attempts of this.attempts.values()) {
      for (const attempt of attempts) if (attempt.connection === connection) attempt.isOver = true;
    }
  }

  onStatement(sql: string, values: readonly unknown[]): void {
    // As in isClaimCurrent.
    if (!sql.includes("notification.claimed_until >= $4")) return;
    this.claimsSeen.set(String(values[1]), this.database.commits);
  }

  onLogLine(line: string): void {
    for (const promise of this.#promises) promise.onLogLine?.(this, line);
  }

  atEnd(): void {
    for (const promise of this.#promises) promise.atEnd?.(this);
  }
}

function add(to: Map<string, Set<string>>, key: string, value: string): void {
  const values = to.get(key) ?? new Set();
  to.set(key, values.add(value));
}
