/**
 * Runs scenarios against one provider and reports what they found.
 */

import { setMaxListeners } from "node:events";
import type { Ledger } from "./client/check-answer.ts";
import { Client } from "./client/client.ts";
import { Connection, NoAnswer } from "./client/connection.ts";
import { SecretList } from "./client/secret-list.ts";
import { wallClock } from "./clock.ts";
import { Kit, type KitParts } from "./kit.ts";
import {
  type ConformanceOptions,
  DEFAULT_CONCURRENCY,
  DEFAULT_TIMING,
  type Timing,
} from "./options.ts";
import { Receiver } from "./receiver/receiver.ts";
import type { Report, ScenarioOutcome } from "./report.ts";
import { judgeRequirements } from "./requirement-outcomes.ts";
import type { Need, Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/index.ts";
import { NotApplicable, NotTested, Violation } from "./violation.ts";

/** Nothing can be tested: the provider does not answer, or not to this credential. */
export class CannotRun extends Error {
  override readonly name = "CannotRun";
  readonly reason: "unreachable" | "credential" | "selection" | "receiver";

  constructor(reason: CannotRun["reason"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** For what is deleted in the end, however the run ended. */
const CLEAN_UP_MS_MAX = 30_000;

/**
 * @throws CannotRun when nothing can be tested at all
 */
export async function runConformance(options: ConformanceOptions): Promise<Report> {
  const scenarios = select(options);
  const run = await Run.start(options);
  const startedAt = wallClock();
  try {
    await run.greet();
    const outcomes = await run.all(scenarios);
    const count = (outcome: string) => outcomes.filter((each) => each.outcome === outcome).length;
    return {
      baseUrl: options.baseUrl,
      startedAt: new Date(startedAt).toISOString(),
      durationMs: wallClock() - startedAt,
      passed: count("passed"),
      failed: count("failed"),
      notTested: count("not_tested"),
      notApplicable: count("not_applicable"),
      scenarios: outcomes,
      requirements: judgeRequirements({ outcomes, scenarios, otherMode: otherMode(options) }),
      leftBehind: run.leftBehind,
    };
  } finally {
    run.close();
  }
}

/** The scenarios that apply and were asked for. Those of `skip` are among them, not to be run. */
function select({ only = [], skip = [], synchronousOnly = false }: ConformanceOptions): Scenario[] {
  for (const selector of [...only, ...skip]) {
    if (SCENARIOS.some(({ id }) => isSelected(id, selector))) continue;
    throw new CannotRun("selection", `there is no scenario ${selector}`);
  }
  const mode = otherMode({ synchronousOnly });
  return SCENARIOS.filter((scenario) => {
    if (only.length > 0 && !only.some((selector) => isSelected(scenario.id, selector)))
      return false;
    return scenario.mode !== mode;
  });
}

/** The mode that the provider does not have. */
function otherMode({ synchronousOnly }: Pick<ConformanceOptions, "synchronousOnly">) {
  return synchronousOnly === true ? "asynchronous" : "synchronous-only";
}

/** A selector is an id, or a prefix of an id up to a dot. */
function isSelected(id: string, selector: string): boolean {
  return id === selector || id.startsWith(`${selector}.`);
}

class Run {
  readonly leftBehind: string[] = [];
  readonly #options: ConformanceOptions;
  readonly #timing: Timing;
  readonly #connection: Connection;
  readonly #ledger: Ledger;
  readonly #receiver: Receiver | undefined;
  readonly #signal: AbortSignal;

  private constructor(
    options: ConformanceOptions,
    connection: Connection,
    receiver: Receiver | undefined,
    secrets: SecretList,
  ) {
    this.#options = options;
    this.#timing = { ...DEFAULT_TIMING, ...options.timing };
    this.#connection = connection;
    this.#receiver = receiver;
    this.#ledger = { requestIds: new Set(), secrets };
    const signals = options.signal === undefined ? [] : [options.signal];
    this.#signal = AbortSignal.any([AbortSignal.timeout(this.#timing.totalMs), ...signals]);
    // Every scenario that waits listens to it.
    setMaxListeners(0, this.#signal);
  }

  static async start(options: ConformanceOptions): Promise<Run> {
    const secrets = new SecretList();
    for (const token of Object.values(options.credential)) secrets.add(token);
    const connection = new Connection(options.baseUrl, options.providerCa);
    try {
      const receiver = options.receiver && (await Receiver.start(options.receiver, secrets));
      return new Run(options, connection, receiver, secrets);
    } catch (error) {
      connection.close();
      const reason = error instanceof Error ? error.message : String(error);
      throw new CannotRun("receiver", `the receiver cannot listen: ${reason}`, { cause: error });
    }
  }

  /** @throws CannotRun when the provider does not answer, or rejects the token */
  async greet(): Promise<void> {
    const { provisionerToken } = this.#options.credential;
    const call = {
      method: "GET",
      path: `/v1/instances/${crypto.randomUUID()}`,
      headers: { authorization: `Bearer ${provisionerToken}` },
    };
    const client = this.#client(this.#signal);
    const { status } = await client.exchange(call).catch((error: unknown) => {
      if (!(error instanceof NoAnswer)) throw error;
      throw new CannotRun("unreachable", error.message, { cause: error });
    });
    if (status !== 401) return;
    throw new CannotRun("credential", "the provider rejects the provisioner token (401)");
  }

  /** In the order of the list, whatever the order in which they ended. */
  async all(scenarios: readonly Scenario[]): Promise<ScenarioOutcome[]> {
    const outcomes = new Map<Scenario, ScenarioOutcome>();
    // Those that wait for long are begun first, so that the others run meanwhile.
    const line = [...scenarios].sort((a, b) => Number(b.isSlow ?? 0) - Number(a.isSlow ?? 0));
    const next = async (): Promise<void> => {
      for (let each = line.shift(); each !== undefined; each = line.shift()) {
        const outcome = await this.#one(each);
        outcomes.set(each, outcome);
        this.#options.onOutcome?.(outcome);
      }
    };
    const { concurrency = DEFAULT_CONCURRENCY } = this.#options;
    const slow = line.filter(({ isSlow }) => isSlow).length;
    // Waiting costs little, so it does not keep others from working.
    const places = concurrency + Math.min(slow, concurrency);
    await Promise.all(Array.from({ length: Math.min(places, scenarios.length) }, next));
    return scenarios.flatMap((scenario) => outcomes.get(scenario) ?? []);
  }

  close(): void {
    this.#receiver?.close();
    this.#connection.close();
  }

  async #one(scenario: Scenario): Promise<ScenarioOutcome> {
    const { id, title, requirements } = scenario;
    const begun = performance.now();
    const result = (rest: Pick<ScenarioOutcome, "outcome" | "reason" | "violated">) => {
      const durationMs = Math.round(performance.now() - begun);
      return { id, title, requirements, ...rest, durationMs };
    };
    const obstacle = this.#obstacle(scenario);
    if (obstacle !== undefined) return result({ outcome: "not_tested", reason: obstacle });
    const kit = new Kit(this.#parts(this.#signal));
    try {
      await scenario.run(kit);
      const violation = kit.messageViolation;
      return result(violation === undefined ? { outcome: "passed" } : this.#judge(violation));
    } catch (error) {
      // A message that is refused for what is wrong with it makes other things go wrong.
      return result(this.#judge(kit.messageViolation ?? error));
    } finally {
      await this.#cleanUp(kit);
    }
  }

  /** Why a scenario is not even begun. */
  #obstacle({ id, needs }: Scenario): string | undefined {
    const { skip = [] } = this.#options;
    if (skip.some((selector) => isSelected(id, selector))) return "skipped by --skip";
    const missing = needs.find((need) => !this.#has(need));
    if (missing !== undefined) return MISSING[missing];
    return this.#signal.aborted ? this.#ended() : undefined;
  }

  #has(need: Need): boolean {
    const { decider, credential } = this.#options;
    if (need === "decider") return decider !== undefined;
    if (need === "receiver") return this.#receiver !== undefined;
    return credential.otherProvisionerToken !== undefined;
  }

  #judge(error: unknown): Pick<ScenarioOutcome, "outcome" | "reason" | "violated"> {
    const message = error instanceof Error ? error.message : String(error);
    const reason = this.#ledger.secrets.clean(message);
    if (error instanceof Violation) {
      return { outcome: "failed", reason, violated: error.requirement };
    }
    if (error instanceof NotTested) return { outcome: "not_tested", reason };
    if (error instanceof NotApplicable) return { outcome: "not_applicable", reason };
    if (this.#signal.aborted) return { outcome: "not_tested", reason: this.#ended() };
    return { outcome: "failed", reason };
  }

  #ended(): string {
    const wasAborted = this.#options.signal?.aborted === true;
    const seconds = this.#timing.totalMs / 1000;
    return wasAborted ? "the run was stopped" : `the run was stopped after ${seconds} s`;
  }

  async #cleanUp(kit: Kit): Promise<void> {
    // Clean up even if the run was stopped.
    const parts = this.#parts(AbortSignal.timeout(CLEAN_UP_MS_MAX));
    this.leftBehind.push(...(await kit.cleanUp(parts.client)));
  }

  #parts(signal: AbortSignal): KitParts {
    const client = this.#client(signal);
    const { receiver, options, timing } = {
      receiver: this.#receiver,
      options: this.#options,
      timing: this.#timing,
    };
    return { options, timing, client, receiver, signal };
  }

  #client(signal: AbortSignal): Client {
    return new Client(this.#connection, this.#ledger, this.#timing.patienceMs, signal);
  }
}

const MISSING: Readonly<Record<Need, string>> = {
  decider: "there is no decider (--decider, --decider-url or --decider-command)",
  receiver: "there is no receiver (--receiver-host)",
  "other-provisioner": "there is no second provisioner (--other-provisioner-token-file)",
};
