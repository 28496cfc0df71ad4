/**
 * The agent's side of an approval, fail-closed. A call runs only if a provider approved exactly
 * these arguments, the approval is still valid, and its use is recorded. Otherwise the result
 * contains the reason. Errors, timeouts, invalid answers and crashes never run a call.
 *
 * @see contract: What the service does, 4
 */

import { type ApprovalRequest, assertHolds } from "./answer.ts";
import { readKey } from "./approval-client.ts";
import { BackgroundWork } from "./background-work.ts";
import { abortable } from "./clock.ts";
import { type CountersignOptions, readSettings, type Settings } from "./countersign-options.ts";
import { SdkError } from "./errors.ts";
import { ExpiryClock } from "./expiry-clock.ts";
import { assertKnownOptions } from "./known-options.ts";
import { Observers } from "./observers.ts";
import { type Obtained, obtainDecision } from "./obtain-decision.ts";
import { Outcomes } from "./outcomes.ts";
import { type Pending, type Result, readPending, type Submitted, type Verdict } from "./result.ts";
import { ResultKeeper } from "./result-keeper.ts";
import { mutableCopy } from "./snapshot.ts";
import { type Attempt, revive } from "./suspended-call.ts";
import {
  type ApprovedTool,
  CALL_OPTIONS,
  type CallOptions,
  type ResumeOptions,
  readCall,
  type ToolCall,
  type ToolFunction,
} from "./tool-call.ts";
import { joinIdentity, refusesServer } from "./tool-identity.ts";
import { recordUse, type UseRefusal } from "./use-of-approval.ts";
import { validityOf } from "./validity.ts";

/**
 * Holds tool calls until a provider approves them, and starts each approved call at most once.
 *
 * @see {@link Countersign.tool} to define a tool
 */
export class Countersign {
  readonly #settings: Settings;
  readonly #clock: ExpiryClock;
  readonly #observers: Observers;
  readonly #outcomes: Outcomes;
  readonly #results: ResultKeeper;
  readonly #cancelling = new BackgroundWork();
  readonly #tools = new Map<string, ToolFunction<object, unknown>>();
  /** False after the provider refused a submission with a server. */
  #recordsServers = true;

  /**
   * Without options, it uses the environment variables COUNTERSIGN_URL and COUNTERSIGN_API_KEY, and
   * the provider records which approvals were used.
   *
   * @throws SdkError `invalid_option` for a missing, invalid or unknown option
   */
  constructor(options: CountersignOptions = {}) {
    this.#settings = readSettings(options);
    const { provider, store, timing } = this.#settings;
    this.#clock = new ExpiryClock(provider, timing);
    this.#observers = new Observers(options, provider);
    this.#outcomes = new Outcomes(provider, this.#observers);
    const report = (message: string) => this.#observers.warn(message);
    this.#results = new ResultKeeper(store, provider.url, report);
  }

  /** True if calls wait for their decision, false if they return `pending`. */
  get waits(): boolean {
    return this.#settings.wait;
  }

  /**
   * Defines a tool that runs after an approval.
   *
   * @param name name of the tool for reviewers and policies
   * @param run starts the tool
   * @throws SdkError `invalid_option` for a name that is defined already
   */
  tool<A extends object, T>(name: string, run: ToolFunction<A, T>): ApprovedTool<A, T> {
    if (typeof run !== "function") {
      throw new SdkError("invalid_option", `Tool ${JSON.stringify(name)} needs a function.`);
    }
    if (this.#tools.has(name)) {
      const message = `Tool ${JSON.stringify(name)} is defined twice. Use another name.`;
      throw new SdkError("invalid_option", message);
    }
    this.#tools.set(name, run as unknown as ToolFunction<object, unknown>);
    const call = async (input: A, options: CallOptions = {}) => {
      assertKnownOptions(`a call of ${name}`, options, CALL_OPTIONS, "invalid_call");
      return this.run({ ...options, tool: name, arguments: input }, run);
    };
    const resume = async (pending: Pending<A>, options?: ResumeOptions) => {
      // Another tool may have a Pending of the same shape, and its approval permits that tool only.
      if (readPending(pending).tool !== name) {
        const other = JSON.stringify(pending.tool.slice(0, 100));
        throw new SdkError("invalid_call", `This Pending is a call of ${other}, not of ${name}.`);
      }
      return this.resume(pending, run, options);
    };
    return Object.assign(call, { resume });
  }

  /**
   * Submits the call, and runs it at most once if the provider approves it. With `wait: false`, an
   * undecided call returns `pending`: see {@link Countersign.resume}.
   *
   * @param run starts the tool with a copy of the approved arguments
   * @throws any error of `run`; SdkError `invalid_call` for a call that cannot be submitted
   */
  async run<A extends object, T>(
    call: ToolCall<A>,
    run: ToolFunction<A, T>,
  ): Promise<Result<T, A>> {
    return this.#start(await this.check(call), run, call.signal);
  }

  /**
   * Submits the call and returns its verdict without running it. An approval counts as used, so the
   * method returns it only once. Check `mayStart()`, then start the call once.
   *
   * @throws SdkError `invalid_call` for a call that cannot be submitted
   */
  async check<A extends object>(call: ToolCall<A>): Promise<Verdict<A>> {
    const waits = call.wait ?? this.#settings.wait;
    const { attempt, obtained } = await this.#submit(call, waits);
    if (obtained.kind !== "answered") return this.#outcomes.failed(obtained);
    return this.#judge(attempt, obtained.request);
  }

  /**
   * Submits the call and returns its state immediately. Frameworks use it to find out whether a
   * call waits before they start it. It does not use an approval: call `run` or `check` with the
   * same key and input to continue.
   *
   * @throws SdkError `invalid_call` for a call that cannot be submitted
   */
  async submit<A extends object>(
    call: ToolCall<A> & { readonly idempotencyKey: string },
  ): Promise<Submitted<A>> {
    const { attempt, obtained } = await this.#submit(call, false);
    if (obtained.kind !== "answered") return this.#outcomes.failed(obtained);
    const { id: requestId, status, decision } = obtained.request;
    if (status === "pending") return this.#outcomes.suspended(attempt, obtained.request);
    if (status === "approved") return { status, requestId };
    return this.#outcomes.refused(status, { requestId, note: decision?.note });
  }

  /**
   * Reads the request of a suspended call once, and runs the call if it is approved. Returns
   * `pending` while the request is undecided. It cancels nothing, so a program can resume the call
   * again after `unavailable`.
   *
   * @param pending the value of an earlier result, in this process or another one
   * @param run starts the tool. Default: the function that `tool` defined under the call's name
   * @throws any error of `run`; SdkError `invalid_call` if `pending` is damaged or belongs to
   *   another provider, or no tool has its name
   */
  async resume<A extends object>(
    pending: Pending<A>,
    run?: undefined,
    options?: ResumeOptions,
  ): Promise<Result<unknown, A>>;
  async resume<A extends object, T>(
    pending: Pending<A>,
    run: ToolFunction<A, T>,
    options?: ResumeOptions,
  ): Promise<Result<T, A>>;
  async resume<A extends object>(
    pending: Pending<A>,
    run?: ToolFunction<A, unknown>,
    options: ResumeOptions = {},
  ): Promise<Result<unknown, A>> {
    const start = run ?? (this.#tools.get(readPending(pending).tool) as typeof run);
    if (start === undefined) {
      const tool = JSON.stringify(pending.tool.slice(0, 100));
      throw new SdkError("invalid_call", `No tool ${tool} is defined. Pass its function.`);
    }
    return this.#start(await this.recheck(pending, options), start, options.signal);
  }

  /**
   * Reads the request of a suspended call once and returns its verdict without running the call.
   * An approval counts as used: see {@link Countersign.check}.
   *
   * @throws SdkError `invalid_call` if `pending` is damaged or belongs to another provider
   */
  async recheck<A extends object>(
    pending: Pending<A>,
    options: ResumeOptions = {},
  ): Promise<Verdict<A>> {
    const { provider } = this.#settings;
    const { signal } = options;
    const { attempt, before } = revive<A>(pending, provider, options);
    let request: ApprovalRequest;
    try {
      // A provider that ignores the signal does not block an abandoned call.
      request = await abortable(provider.read(before, { signal }), signal);
    } catch (error) {
      const reason = signal?.aborted ? "abandoned" : "no_decision";
      return this.#outcomes.refused(reason, { requestId: before.id, error });
    }
    this.#observers.decided(request);
    return this.#judge(attempt, request);
  }

  /**
   * Cancels the request of a suspended call.
   *
   * @returns the final status of the request. It is not `cancelled` if the request was decided
   *   before
   * @throws SdkError if the provider cannot be reached or refuses; `invalid_call` if `pending` is
   *   damaged or belongs to another provider
   */
  async cancel(pending: Pending): Promise<"approved" | "denied" | "expired" | "cancelled"> {
    const { provider, cancelTimeout: retryFor } = this.#settings;
    const { before } = revive(pending, provider, {});
    try {
      const { status } = await provider.cancel(before, { retryFor });
      if (status !== "pending") return status;
      throw new SdkError("invalid_answer", "The provider did not cancel the request.");
    } catch (error) {
      if (!(error instanceof SdkError && error.providerCode === "already_terminal")) throw error;
      const { status } = await provider.read(before, { retryFor });
      if (status === "pending") throw error;
      return status;
    }
  }

  /** Resolves when all cancellations of abandoned requests are complete. Await it before exit. */
  async settled(): Promise<void> {
    await this.#cancelling.settled();
  }

  /**
   * Saves the result of a call, for a framework that repeats the step of the call. A result that
   * cannot be saved is reported to the logger and throws no error, because the call has run.
   *
   * @param text the result, at most 1,048,576 UTF-16 code units; undefined if it has no text form
   */
  async saveResult(idempotencyKey: string, text: string | undefined): Promise<void> {
    await this.#results.save(idempotencyKey, text);
  }

  /**
   * Loads the saved result of a call.
   *
   * @returns the text that {@link Countersign.saveResult} saved; undefined if there is none
   * @throws SdkError `invalid_call` for an invalid key
   */
  async loadResult(idempotencyKey: string): Promise<string | undefined> {
    return this.#results.load(readKey(idempotencyKey));
  }

  /** Sends one line to the operator through the logger. Adapters use it too. */
  warn(message: string): void {
    this.#observers.warn(message);
  }

  /** Submits the call with its server, or with the joined name to a provider without servers. */
  async #submit<A extends object>(
    call: ToolCall<A>,
    waits: boolean,
  ): Promise<{ readonly attempt: Attempt<A>; readonly obtained: Obtained }> {
    const split = readCall(call, this.#settings.timeout);
    const joined = { ...split, submission: joinIdentity(split.submission) };
    if (this.#recordsServers) {
      const obtained = await this.#obtain(split, waits);
      const isRefused = obtained.kind === "failed" && refusesServer(obtained.error);
      if (!isRefused) return { attempt: split, obtained };
      this.#recordsServers = false;
    }
    return { attempt: joined, obtained: await this.#obtain(joined, waits) };
  }

  async #obtain(attempt: Attempt<object>, waits: boolean): Promise<Obtained> {
    const { idempotencyKey, submission, signal, traceparent } = attempt;
    const { provider, timing, graceMs, cancelTimeout } = this.#settings;
    const { agentReasoning: reasoning, ...call } = submission;
    const obtained = await obtainDecision(
      { ...call, idempotencyKey, reasoning, traceparent },
      {
        provider,
        timing,
        waits,
        signal,
        graceMs,
        cancelTimeout,
        onPending: (request) => this.#observers.pending(request),
        onOutage: ({ message }) => this.#observers.warn(`${message} ${STILL_WAITING}`),
        inBackground: (cancelling) => this.#cancelling.add(cancelling),
      },
    );
    if (obtained.kind === "answered") this.#observers.decided(obtained.request);
    return obtained;
  }

  /** The final check: permits only a valid and unused approval of exactly these arguments. */
  async #judge<A extends object>(
    attempt: Attempt<A>,
    request: ApprovalRequest,
  ): Promise<Verdict<A>> {
    const { id: requestId, status, decision } = request;
    if (status === "pending") return this.#outcomes.suspended(attempt, request);
    if (status !== "approved") {
      return this.#outcomes.refused(status, { requestId, note: decision?.note });
    }
    try {
      // A custom implementation of `ApprovalProvider` may not have checked it.
      assertHolds(request, attempt.submission);
    } catch (error) {
      return this.#outcomes.refused("no_decision", { requestId, error });
    }
    if (decision?.expiresAt === undefined) {
      return this.#outcomes.refused("no_decision", { requestId });
    }
    const { note, expiresAt } = decision;
    const { provider, timing, safetyMarginMs: marginMs } = this.#settings;
    const now = () => this.#clock.now();
    const mayStart = validityOf(decision, { now, timing, marginMs });
    const refusal = await this.#use(attempt, request, expiresAt, mayStart);
    if (refusal !== undefined) {
      const cause = refusal.reason === "lapsed" ? this.#clock.difference() : undefined;
      return this.#outcomes.refused(refusal.reason, { ...refusal, requestId, note, cause });
    }
    return Object.freeze({
      status,
      requestId,
      idempotencyKey: attempt.idempotencyKey,
      tool: attempt.submission.tool,
      arguments: mutableCopy(attempt.snapshot.value),
      note,
      reviewUrl: provider.reviewUrlOf?.(requestId),
      expiresAt,
      isDevelopment: provider.isDevelopment,
      mayStart,
    });
  }

  #use(
    { idempotencyKey, signal }: Attempt<object>,
    { id: requestId, createdAt }: ApprovalRequest,
    expiresAt: number,
    mayStart: () => boolean,
  ): Promise<UseRefusal | undefined> {
    const { provider, store } = this.#settings;
    const use = {
      provider,
      store,
      idempotencyKey,
      requestId,
      createdAt,
      leadMs: this.#clock.leadMs(),
      signal,
      expiresAt,
      now: () => this.#clock.now(),
    };
    return recordUse(use, mayStart);
  }

  async #start<A extends object, T>(
    verdict: Verdict<A>,
    run: ToolFunction<A, T>,
    signal: AbortSignal | undefined,
  ): Promise<Result<T, A>> {
    if (verdict.status !== "approved") return verdict;
    const { requestId, note, reviewUrl, isDevelopment } = verdict;
    if (signal?.aborted) return this.#outcomes.refused("abandoned", { requestId, note });
    if (!verdict.mayStart()) return this.#outcomes.refused("lapsed", { requestId, note });
    // No await between the clock check and the start.
    const value = await run(mutableCopy(verdict.arguments), verdict);
    return {
      status: "executed",
      reason: "executed",
      value,
      requestId,
      note,
      reviewUrl,
      isDevelopment,
    };
  }
}

const STILL_WAITING = "A call still waits for its decision. The SDK continues to ask.";
