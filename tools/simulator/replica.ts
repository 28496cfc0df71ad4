/**
 * One process of a replica: the product's operations and workers, composed as provider.ts does it,
 * on the world's time, chance, database and network. HTTP alone is left out: calls come in through
 * exchange.ts.
 */

import { type Clock, systemClock } from "../../packages/server/src/clock.ts";
import { readConfig } from "../../packages/server/src/config/read-config.ts";
import { toSettings } from "../../packages/server/src/config/settings.ts";
import type { Context } from "../../packages/server/src/context.ts";
import { DestinationLimits } from "../../packages/server/src/delivery/destination-limits.ts";
import { WebhookDelivery } from "../../packages/server/src/delivery/webhook-delivery.ts";
import { createEgressClient } from "../../packages/server/src/egress/egress-client.ts";
import { NO_OUTBOUND } from "../../packages/server/src/egress/outbound.ts";
import { ReceiverUrls } from "../../packages/server/src/egress/receiver-urls.ts";
import type { Examination, ExaminationOrder } from "../../packages/server/src/examiner/examiner.ts";
import { Failure } from "../../packages/server/src/failure.ts";
import { NoNotifier } from "../../packages/server/src/notify/no-notifier.ts";
import { examinePolicy } from "../../packages/server/src/policy/examine.ts";
import { outlineOf } from "../../packages/server/src/policy/outline.ts";
import { PolicyCache } from "../../packages/server/src/policy/policy-cache.ts";
import { RateLimiter } from "../../packages/server/src/rate-limiter.ts";
import { RecentlyUsed } from "../../packages/server/src/recently-used.ts";
import { Report } from "../../packages/server/src/report.ts";
import { Keyring } from "../../packages/server/src/secrets/keyring.ts";
import { PasswordHasher } from "../../packages/server/src/secrets/password-hasher.ts";
import { DatabaseClock } from "../../packages/server/src/storage/postgres/database-clock.ts";
import type { ReplicaBusListener } from "../../packages/server/src/storage/replica-bus.ts";
import { ACTIVE_STATES_CACHED_MAX } from "../../packages/server/src/storage/sql/policy/active-state.ts";
import type { Worker } from "../../packages/server/src/timer-loop.ts";
import { LocalWake } from "../../packages/server/src/wake/local-wake.ts";
import { SharedWake } from "../../packages/server/src/wake/shared-wake.ts";
import { startResolutionPoll } from "../../packages/server/src/workers/resolution-poll.ts";
import { startWorkers } from "../../packages/server/src/workers/start-workers.ts";
import type { Database } from "./database.ts";
import type { Faults } from "./faults.ts";
import type { Receivers } from "./receivers.ts";
import { SimulatedStore } from "./simulated-store.ts";
import type { Actor, World } from "./world.ts";

/** Small, so that places are fought for. */
const CONFIGURED = toSettings(
  readConfig(
    {
      data: "nowhere",
      log_level: "info",
      retention: "168h",
      window_max: "2h",
      instance_rate: "0",
      provisioner_rate: "0",
      reviewer_rate: "0",
      account_submission_rate: "0",
      webhook_account_rate: "0",
      webhook_host_rate: "0",
      webhook_address_rate: "0",
      webhook_account_verifications: "0",
      webhook_host_verifications: "0",
      webhook_in_flight_max: "6",
      webhook_account_in_flight_max: "5",
      webhook_host_in_flight_max: "3",
      webhook_address_in_flight_max: "4",
    },
    {},
  ),
);

/** Deletions take several transactions, as they do where very many requests are pending. */
const SETTINGS = { ...CONFIGURED, cancellationsPerCommitMax: 2 };

const SECRET_KEY = Buffer.alloc(32, 7);
const FINGERPRINT_KEY = Buffer.alloc(32, 9);
const ROW_KEY = Buffer.alloc(32, 11);

/** The parts that the replicas share. */
export interface ReplicaParts {
  readonly world: World;
  readonly database: Database;
  readonly receivers: Receivers;
  /** Whether works share transactions. */
  readonly isGrouped: boolean;
  readonly faults: () => Faults;
  readonly replicas: readonly Replica[];
  /** Every line that a replica writes to its log. */
  readonly onLogLine: (line: string) => void;
}

export class Replica implements Actor {
  readonly name: string;
  isAlive = true;
  isFrozen = false;
  readonly context: Context;
  /** Called when it is gone. */
  readonly onEnd = new Set<() => void>();
  /** How far the clock of its machine is ahead, ms. */
  aheadMs: number;
  readonly #replicaParts: ReplicaParts;
  readonly #workers: Worker[];
  readonly #wake: SharedWake;
  #listener: ReplicaBusListener | undefined;
  #isStopping = false;

  /** @param aheadMs of its machine's clock */
  constructor(replicaParts: ReplicaParts, name: string, aheadMs: number) {
    this.name = name;
    this.aheadMs = aheadMs;
    this.#replicaParts = replicaParts;
    const report = new SimulatedReport(replicaParts);
    const clock = new DatabaseClock(this.#ownClock());
    // As provider.ts, which has asked the database for the time when it was opened.
    clock.learn(replicaParts.world.now, this.#ownNow());
    this.#wake = this.#createWake(clock);
    this.context = this.#compose(clock, report);
    const { context } = this;
    const awaited = startResolutionPoll(context, report);
    this.#wake.open({
      onListening: () => report.wakeListening(),
      onLost: (error) => report.wakeLost(error),
      onResolvedElsewhere: (requestIds) => awaited.check(requestIds),
    });
    this.#workers = [...startWorkers(context, report), awaited];
  }

  /** Whether it takes calls. */
  get isServing(): boolean {
    return this.isAlive && !this.#isStopping;
  }

  /** As a server that is asked to stop; `exchanges` are those that it still answers. */
  async stop(exchanges: () => Promise<unknown>): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.context.wake.releaseAll();
    await Promise.all([exchanges(), ...this.#workers.map((worker) => worker.stop())]);
    this.context.delivery.close();
    await this.#wake.close();
    this.end();
  }

  /** From one turn to the next it is gone. */
  end(): void {
    this.isAlive = false;
    this.#replicaParts.world.dropDead();
    this.#replicaParts.database.tidyUp();
    // Its machine closes its connections; this reaches no dead process.
    this.context.delivery.close();
    for (const notice of this.onEnd) notice();
    this.onEnd.clear();
  }

  /** Receives a message of another replica, or of this one. */
  receive(message: string): void {
    this.#listener?.onMessage(message);
  }

  /** The connection that it listens on breaks, and comes back later. */
  loseChannel(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    listener.onLost(new Error("the connection broke"));
    this.#replicaParts.world.after(this, 2_000, "listens again", () => {
      this.#listener = listener;
      listener.onListening();
    });
  }

  #ownNow(): number {
    return this.#replicaParts.world.now + this.aheadMs;
  }

  #ownClock(): Clock {
    const { world } = this.#replicaParts;
    return {
      now: () => this.#ownNow(),
      monotonic: () => world.elapsedMs,
      after: (delayMs, callback) =>
        world.after(this, delayMs, `wakes after ${Math.round(delayMs)} ms`, callback),
      coalesced: (at) => at,
    };
  }

  #compose(clock: DatabaseClock, report: Report): Context {
    const { world, database, faults, isGrouped } = this.#replicaParts;
    const random = world.draw.random();
    const store = new SimulatedStore({
      world,
      database,
      actor: this,
      faults,
      isGrouped,
      random,
      ownClock: this.#ownClock(),
      databaseClock: clock,
    });
    store.integrity.useKey({ key: ROW_KEY, since: 0 });
    const keyring = new Keyring(SECRET_KEY);
    keyring.useFingerprintKey(FINGERPRINT_KEY);
    const examiner = { examine: this.#examine.bind(this), close: async () => {} };
    return {
      store,
      clock,
      random,
      wake: this.#wake,
      keyring,
      passwords: new PasswordHasher(random),
      settings: SETTINGS,
      submissions: new RateLimiter(SETTINGS.rates.accountSubmissions, clock),
      chatEvents: new RateLimiter(0, clock),
      handOverNotices: new RateLimiter(0, clock),
      delivery: this.#createDelivery(clock, report),
      notifier: new NoNotifier(),
      outbound: NO_OUTBOUND,
      auditSinks: [],
      identityProvider: undefined,
      onLastAdminLost: () => {},
      workloadTokens: undefined,
      tracing: undefined,
      policies: new PolicyCache(),
      examiners: { drafts: examiner, active: examiner },
      activeStates: new RecentlyUsed(ACTIVE_STATES_CACHED_MAX),
    };
  }

  #createDelivery(clock: Clock, report: Report): WebhookDelivery {
    const { world, receivers } = this.#replicaParts;
    const { bounds } = SETTINGS.webhooks;
    const egress = createEgressClient({
      rules: { allow: [], nat64: [] },
      resolver: receivers.resolver(this),
      clock,
      perDestinationMax: Math.min(bounds.hostInFlightMax, bounds.addressInFlightMax),
      dial: receivers.dial(this),
    });
    const limits = new DestinationLimits(bounds, clock);
    const urls = new ReceiverUrls({ internalNames: false });
    return new WebhookDelivery({
      egress,
      limits,
      urls,
      clock,
      random: world.draw.random(),
      report,
    });
  }

  #createWake(clock: Clock): SharedWake {
    const { world, replicas, faults } = this.#replicaParts;
    const bus = {
      messageBytesMax: 300,
      open: (listener: ReplicaBusListener) => {
        this.#listener = listener;
        world.after(this, 50, "listens", () => listener.onListening());
      },
      send: async (message: string) => {
        await world.turn(this, "notifies the others");
        for (const replica of replicas) {
          const copies = world.draw.happens(faults().wakeTwice) ? 2 : 1;
          for (let copy = 0; copy < copies; copy++) {
            if (world.draw.happens(faults().wakeLost)) continue;
            world.schedule(replica, "receives a signal", () => replica.receive(message));
          }
        }
        return true;
      },
      close: async () => {
        this.#listener = undefined;
      },
    };
    const random = world.draw.random();
    return new SharedWake({ local: new LocalWake(), bus, random, clock });
  }

  /** In place of the thread: the same, with a turn before and after it. */
  async #examine(order: ExaminationOrder): Promise<Examination> {
    const { world, faults } = this.#replicaParts;
    await world.turn(this, "examines a policy");
    if (world.draw.happens(faults().statement)) {
      throw new Failure("examiner", "the examiner is stopping");
    }
    const { kind, groups, keptMs, source, runsTests } = order;
    const clock = runsTests ? systemClock : null;
    const { policy, findings, tests } = examinePolicy({ kind, groups, keptMs }, source, clock);
    await world.turn(this, "has examined it");
    const [warnings, rules] = [policy?.warnings ?? [], policy?.rules.length ?? 0];
    const outlines = policy?.rules.map(outlineOf) ?? [];
    return { policy, findings, tests, warnings, rules, outlines, isStopped: false };
  }
}

/** An error that is not a failure of a dependency is a bug. */
class SimulatedReport extends Report {
  readonly #world: World;

  constructor({ world, onLogLine }: ReplicaParts) {
    super("info", { write: onLogLine });
    this.#world = world;
  }

  override dependencyFailed(dependency: string, error: unknown, exchangeId?: string): void {
    if (!(error instanceof Failure)) this.#found(error);
    super.dependencyFailed(dependency, error, exchangeId);
  }

  override bugFound(error: unknown, exchangeId?: string): void {
    this.#found(error);
    super.bugFound(error, exchangeId);
  }

  #found(error: unknown): void {
    this.#world.fail("bug", error instanceof Error ? String(error.stack) : String(error));
  }
}
