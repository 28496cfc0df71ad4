/**
 * One seed from its beginning to its end: replicas start, clients use them while things go
 * wrong, then nothing fails any more and everything has to end.
 */

import { authenticateCaller } from "../../packages/server/src/operations/access/authenticateCaller.ts";
import {
  type VerificationEvent,
  verifyAuditLog,
} from "../../packages/server/src/operations/audit/verifyAuditLog.ts";
import { createToken } from "../../packages/server/src/operations/tokens/createToken.ts";
import { Clients, type Tokens } from "./clients.ts";
import { Database, type Template } from "./database.ts";
import { Draw } from "./draw.ts";
import { Facts } from "./facts.ts";
import { drawFaults, type Faults, NO_FAULTS } from "./faults.ts";
import { healed, nextEvent } from "./healing.ts";
import { Network } from "./network.ts";
import { PROMISES } from "./promises/all.ts";
import { Receivers } from "./receivers.ts";
import { Replica, type ReplicaParts } from "./replica.ts";
import { type Commit, Snapshot } from "./snapshot.ts";
import { type Broken, World } from "./world.ts";

export interface SeedOptions {
  readonly seed: number;
  readonly replicas: number;
  /** Turns in which things go wrong. */
  readonly steps: number;
  /** Whether every turn is recorded. */
  readonly isTraced: boolean;
}

export interface SeedOutcome {
  readonly seed: number;
  /** The promise that did not hold. */
  readonly broken: Broken | undefined;
  /** Of all that happened. */
  readonly digest: string;
  readonly trace: readonly string[];
  readonly turns: number;
  readonly faults: Faults;
  /** How often what happened, for an idea of what was tried. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Of time between two turns, ms: from replicas that are fast to those that are overloaded. */
const PACES = [1, 5, 20, 80];
const CALM_PACE_MS = 1;
const CALM_READS = 0.05;

/** How much likelier what goes wrong is right after what cannot be undone. */
const EXPOSED = 8;

/** The part of the seeds in which works share transactions, as on PostgreSQL. */
const GROUPED = 0.5;

const FREEZES_MS = [500, 5_000, 9_500, 29_000, 31_000, 60_000];

/** Long enough for others to do something, and not too long for an attempt to be made. */
const OUTRUN_MS = [1_000, 3_000, 6_000, 8_000];

/** How much likelier a leap is right over the deadline of what is being decided. */
const OVERTAKEN = 20;

const UNDER_WAY_MS_MAX = 9_000;

/** Turns between two checks whether all work has finished. */
const CHECK_EVERY = 8;

const LEAPS_TO_PURGE_MAX = 40;
const LONG_LEAPS = 5;
const LONG_LEAP_MS = 50 * 3_600_000;
const RETENTION_ROUND_MS = 6 * 60_000;
const STEPS_PER_LEAP = 60;

export async function runSeed(template: Template, options: SeedOptions): Promise<SeedOutcome> {
  const run = new Run(template, options);
  try {
    await run.play();
    return run.outcome();
  } finally {
    run.close();
  }
}

class Run {
  readonly #options: SeedOptions;
  readonly #world: World;
  readonly #database: Database;
  readonly #replicas: Replica[] = [];
  readonly #replicaParts: ReplicaParts;
  readonly #receivers: Receivers;
  readonly #network: Network;
  readonly #facts: Facts;
  #clients: Clients | undefined;
  readonly #drawn: Faults;
  /** Those that are on by now. */
  #faults = NO_FAULTS;
  #started = 0;

  constructor(template: Template, options: SeedOptions) {
    this.#options = options;
    const draw = new Draw(options.seed);
    this.#drawn = drawFaults(draw);
    const world = new World({ draw, paceMs: CALM_PACE_MS, isTraced: options.isTraced });
    const database = new Database(world, template);
    const snapshot = new Snapshot(database);
    const faults = () => this.#faults;
    const replicas = this.#replicas;
    this.#receivers = new Receivers({ world, faults, watch: this.#watch() });
    const { secrets } = this.#receivers;
    const parts = { world, database, snapshot, replicas, faults: this.#drawn, secrets };
    const facts = new Facts(parts, PROMISES);
    const onAnswer: Facts["onAnswer"] = (played) => facts.onAnswer(played);
    this.#network = new Network({ world, replicas, faults, onAnswer });
    const onLogLine = (line: string) => facts.onLogLine(line);
    const isGrouped = draw.happens(GROUPED);
    world.togetherness = isGrouped ? 0.6 : 0.1;
    const shared = { world, database, receivers: this.#receivers, isGrouped };
    const replicaParts = { ...shared, faults, replicas, onLogLine };
    [this.#world, this.#database, this.#facts, this.#replicaParts] = [
      world,
      database,
      facts,
      replicaParts,
    ];
    database.onStatement = (_, sql, values) => facts.onStatement(sql, values);
    database.onCommit = (committed) => {
      this.#count("commits");
      const commit = snapshot.follow(committed);
      facts.onCommit(commit);
      this.#outrun(commit);
    };
    world.onTurn = () => database.tidyUp();
  }

  async play(): Promise<void> {
    const { replicas, steps } = this.#options;
    for (let i = 0; i < replicas; i++) this.#start();
    const tokens = await this.#issueTokens();
    const { reviewers, provisioner } = tokens;
    for (const [i, token] of reviewers.entries()) {
      const [row] = this.#database.look("select id from reviewer where name = $1", [`r${i}`]);
      this.#facts.reviewers.set(token, String(row?.id));
    }
    this.#world.note({ name: "setup" }, `is done, ${provisioner.length}`);
    const [world, network, facts] = [this.#world, this.#network, this.#facts];
    const clients = new Clients({ world, network, facts, receivers: this.#receivers, tokens });
    this.#clients = clients;
    this.#faults = this.#drawn;
    world.paceMs = world.draw.among(PACES);
    for (let step = 0; step < steps && world.broken === undefined; step++) {
      this.#injectFaults();
      clients.takeTurn();
      await world.step();
    }
    this.#heal();
    await this.#settle(clients);
    this.#countEnds();
    if (world.broken === undefined) facts.atEnd();
    await this.#expireAll();
    // Signatures are verified in threads, which need a different number of turns each time.
    world.endSchedule();
    // After the walks that find what clocks set back have hidden from the sealing.
    if (world.broken === undefined) await this.#verifyAuditLog(tokens);
  }

  async #verifyAuditLog({ reviewers: [token = ""] }: Tokens): Promise<void> {
    const [replica] = this.#replicas;
    if (replica === undefined) return;
    const { context } = replica;
    const results: string[] = [];
    const emit = async (event: VerificationEvent) => {
      if (event.kind !== "verified") return;
      const { finding } = event.result;
      if (finding !== undefined) results.push(finding.message);
      this.#count("verified logs");
    };
    const verify = async () => {
      const caller = await authenticateCaller(context, `Bearer ${token}`);
      if (caller.kind !== "reviewer") return;
      const { signal } = new AbortController();
      await verifyAuditLog(context, caller, "project", { emit, signal });
    };
    let isOver = false;
    verify()
      .catch((error: unknown) => results.push(String(error)))
      .finally(() => {
        isOver = true;
      });
    while (!isOver) await this.#world.step();
    this.#world.assert(results.length === 0, "I15", () => `the audit log: ${results[0]}`);
  }

  /** Advances until expired rows are purged. Small steps also detect an early purge. */
  async #expireAll(): Promise<void> {
    const world = this.#world;
    if (world.broken !== undefined) return;
    const left = () => this.#facts.snapshot.all("request").length;
    for (let leap = 0; leap < LEAPS_TO_PURGE_MAX && left() > 0; leap++) {
      // The first ones take it beyond all retention; then the retention worker needs a round.
      world.leap(leap < LONG_LEAPS ? LONG_LEAP_MS : RETENTION_ROUND_MS);
      const isDone = (step: number) => step > STEPS_PER_LEAP && this.#database.isIdle;
      for (let step = 0; !isDone(step) && world.broken === undefined; step++) await world.step();
    }
    world.assert(left() === 0, "I14", () => `${left()} requests were never purged`);
  }

  outcome(): SeedOutcome {
    const { broken, digest, trace, turns, counts } = this.#world;
    return { seed: this.#options.seed, broken, digest, trace, turns, counts, faults: this.#drawn };
  }

  close(): void {
    for (const replica of this.#replicas) replica.end();
    this.#database.close();
  }

  #countEnds(): void {
    const { snapshot } = this.#facts;
    for (const { status } of snapshot.all("request")) this.#count(String(status));
    for (const { ended_by: by } of snapshot.all("notification")) this.#count(`by ${by}`);
  }

  #count(what: string): void {
    this.#world.count(what);
  }

  #start(place = this.#replicas.length): void {
    const { draw } = this.#world;
    const aheadMs = draw.happens(0.5) ? draw.between(-600_000, 600_000) : 0;
    const name = `replica-${place}.${++this.#started}`;
    this.#world.note({ name }, `starts, ${aheadMs} ms ahead`);
    this.#replicas[place] = new Replica(this.#replicaParts, name, aheadMs);
  }

  async #issueTokens(): Promise<Tokens> {
    const [replica] = this.#replicas;
    if (replica === undefined) throw new Error("there is no replica");
    const order = { project: "default", expiresAt: null } as const;
    const issue = async () => {
      const provisioner = await createToken(replica.context, {
        ...order,
        kind: "provisioner",
        name: "p",
      });
      const reviewers: string[] = [];
      for (const name of ["r0", "r1", "r2"]) {
        const role = name === "r0" ? "admin" : "reviewer";
        const issued = await createToken(replica.context, {
          ...order,
          kind: "reviewer",
          name,
          role,
        });
        reviewers.push(issued.token);
      }
      return { provisioner: provisioner.token, reviewers };
    };
    let tokens: Tokens | undefined;
    const issued = issue().then((made) => {
      tokens = made;
    });
    while (tokens === undefined) await this.#world.step();
    await issued;
    return tokens;
  }

  /** Faults that can occur at any turn. */
  #injectFaults(): void {
    const { draw } = this.#world;
    const faults = this.#faults;
    for (const exposed of this.#replicas.filter((each) => this.#world.exposed.has(each))) {
      if (draw.happens(faults.crash * EXPOSED) && exposed.isAlive) this.#crash(exposed);
      if (draw.happens(faults.freeze * EXPOSED) && exposed.isAlive) this.#freeze(exposed);
    }
    this.#world.exposed.clear();
    const replica = draw.among(this.#replicas);
    if (draw.happens(faults.crash) && replica.isAlive) this.#crash(replica);
    if (draw.happens(faults.restart) && replica.isAlive) this.#stop(replica);
    if (draw.happens(faults.freeze) && replica.isAlive) this.#freeze(replica);
    if (draw.happens(faults.wakeLost / 500) && replica.isAlive) replica.loseChannel();
    if (draw.happens(faults.clock)) {
      replica.aheadMs += draw.between(-300_000, 300_000);
      this.#world.note(replica, `its clock is set, ${replica.aheadMs} ms ahead now`);
    }
    if (draw.happens(faults.databaseClock)) {
      this.#count("set clocks");
      this.#world.aheadMs += draw.between(-2_000, 2_000);
    }
    if (draw.happens(faults.databaseLeap)) {
      this.#world.setDatabaseClock(draw.between(-300_000, 300_000));
    }
    if (draw.happens(faults.leap)) this.#leap();
    this.#overtake();
  }

  /** The deadline of what is being decided passes before its commit. */
  #overtake(): void {
    const { deciding } = this.#database;
    if (deciding.size === 0 || !this.#world.draw.happens(this.#faults.leap * OVERTAKEN)) return;
    const pending = [...deciding].map((id) => this.#facts.snapshot.get("request", id));
    const lefts = pending.map((row) => Number(row?.deadline_at ?? 0) - this.#world.now);
    const ms = Math.min(...lefts.filter((left) => left >= 0));
    if (ms <= UNDER_WAY_MS_MAX) this.#world.leap(ms);
  }

  /** A worker that has claimed an event sends it after its receiver or instance is gone. */
  #outrun({ actor, changes }: Commit): void {
    const replica = this.#replicas.find((each) => each === actor);
    const claim = changes.find(({ table, before, after }) => {
      return table === "notification" && Number(after?.fence) > Number(before?.fence);
    });
    if (replica === undefined || claim === undefined) return;
    if (!this.#world.draw.happens(this.#faults.outrun)) return;
    this.#count("outrun");
    this.#freeze(replica, this.#world.draw.among(OUTRUN_MS));
    this.#clients?.endDeliveriesOf(String(claim.after?.instance_id));
  }

  #crash(replica: Replica): void {
    this.#count("crashes");
    this.#world.note(replica, "crashes");
    replica.end();
    this.#later(() => this.#start(this.#replicas.indexOf(replica)));
  }

  #stop(replica: Replica): void {
    this.#count("stops");
    this.#world.note(replica, "is asked to stop");
    replica
      .stop(() => this.#network.drained(replica))
      .then(() => {
        this.#world.note(replica, "has stopped");
      });
    this.#later(() => {
      if (replica.isAlive) replica.end();
      this.#start(this.#replicas.indexOf(replica));
    });
  }

  #freeze(replica: Replica, ms = this.#world.draw.among(FREEZES_MS)): void {
    this.#count("freezes");
    this.#world.note(replica, `freezes for ${ms} ms`);
    replica.isFrozen = true;
    this.#world.after(OPERATOR, ms, `${replica.name} goes on`, () => {
      replica.isFrozen = false;
    });
  }

  #later(work: () => void): void {
    const delayMs = this.#world.draw.between(10, 20_000);
    this.#world.after(OPERATOR, delayMs, "comes back", work);
  }

  /** All actors sleep: mostly until right before something falls due. */
  #leap(): void {
    const { draw } = this.#world;
    this.#count("leaps");
    const due = nextEvent(this.#facts, draw.below(4));
    const ms = due === undefined ? draw.below(60_000) : due - this.#world.now;
    // A longer leap would interrupt open work.
    const bounded = this.#database.isIdle ? ms : Math.min(ms, UNDER_WAY_MS_MAX);
    this.#world.leap(Math.max(0, bounded - draw.among([0, 1, 20, 200])));
  }

  /** From now on nothing fails, and what was down comes up. */
  #heal(): void {
    this.#world.note(OPERATOR, "heals everything");
    this.#faults = NO_FAULTS;
    this.#world.paceMs = CALM_PACE_MS;
    this.#world.awaitsReads = CALM_READS;
    for (const replica of this.#replicas) replica.isFrozen = false;
  }

  /** Lets everything end, and leaps where nothing happens. */
  async #settle(clients: Clients): Promise<void> {
    const world = this.#world;
    const stepsMax = 30_000;
    for (let step = 0; world.broken === undefined; step++) {
      const isQuiet = clients.running === 0 && this.#replicas.every(({ isServing }) => isServing);
      if (isQuiet && step % CHECK_EVERY === 0) {
        const { isOver, leapMs } = healed(this.#facts);
        if (isOver) return;
        if (leapMs > 0) world.leap(leapMs);
      }
      if (step > stepsMax) world.fail("liveness", "it does not come to rest");
      await world.step();
    }
  }

  #watch() {
    return {
      arrived: (...arrived: Parameters<Facts["onArrival"]>) => {
        this.#count("messages");
        this.#facts.onArrival(...arrived);
      },
      saved: (id: string) => void this.#facts.saved.add(id),
      proved: (registrationId: string) => void this.#facts.proved.add(registrationId),
      over: (connection: object) => this.#facts.onOver(connection),
    };
  }
}

const OPERATOR = { name: "operator", isAlive: true, isFrozen: false };
