/**
 * The agent's side of an approval, fail-closed. A call runs only if a provider approved exactly
 * these arguments, the approval is still valid, and its use is recorded. Otherwise the result
 * contains the reason. Errors, timeouts, invalid answers and crashes never run a call.
 *
 * @see contract: What the service does, 4
 */

import type { ApprovalRequest } from "./answer.ts";
import { assertHolds } from "./answer.ts";
import { readKey, readSubmission } from "./approval-client.ts";
import { BackgroundWork } from "./background-work.ts";
import { abortable, ForwardClock } from "./clock.ts";
import { type CountersignOptions, readSettings, type Settings } from "./countersign-options.ts";
import type { DecisionWindow } from "./duration.ts";
import { SdkError } from "./errors.ts";
import { assertKnownOptions } from "./known-options.ts";
import { causeOf } from "./network-error.ts";
import { Observers } from "./observers.ts";
import { type Obtained, obtainDecision } from "./obtain-decision.ts";
import {
  type Approval,
  messageFor,
  type NotExecuted,
  type NotExecutedReason,
  type Pending,
  type Result,
  readPending,
  STATUS_OF,
  type Submitted,
  type Suspended,
  type Verdict,
} from "./result.ts";
import { ResultKeeper } from "./result-keeper.ts";
import { mutableCopy, snapshot } from "./snapshot.ts";
import { type Attempt, revive, suspend } from "./suspended-call.ts";
import { recordUse } from "./use-of-approval.ts";
import { validityOf } from "./validity.ts";

/** Options of one call. */
export interface CallOptions {
  /**
   * Identifies one attempt to run one call. Keep it after a crash or a retry of the agent, so that
   * the call does not run twice. Use a new key for every other attempt. Default: a random key.
   */
  readonly idempotencyKey?: string | undefined;
  /** The agent's own explanation. Reviewers see it as a claim of the agent. */
  readonly reasoning?: string | undefined;
  /** Facts about the runtime for reviewers and policies, such as the model. */
  readonly context?: object | undefined;
  /** Time that reviewers have to decide. Default: `timeout` of {@link CountersignOptions}. */
  readonly timeout?: DecisionWindow | undefined;
  /** False returns `pending` instead of waiting. Default: `wait` of {@link CountersignOptions}. */
  readonly wait?: boolean | undefined;
  /** Abandons the call: it does not start, and its request is cancelled. */
  readonly signal?: AbortSignal | undefined;
}

/** A tool call. */
export interface ToolCall<A extends object = object> extends CallOptions {
  /** Name of the tool. */
  readonly tool: string;
  /** Arguments: a plain object of JSON values, or a JsonObject for exact JSON text. */
  readonly arguments: A;
}

/** Starts a tool with the approved arguments, a copy that it may change. */
export type ToolFunction<A extends object, T> = (
  approved: A,
  approval: Approval<A>,
) => T | Promise<T>;

/** A tool that runs after an approval. */
export interface ApprovedTool<A extends object, T> {
  /**
   * Submits a call of the tool, and runs it at most once if the provider approves it.
   *
   * @throws any error of the tool; SdkError `invalid_call` for a call that cannot be submitted
   */
  (input: A, options?: CallOptions): Promise<Result<T, A>>;
  /** Continues a suspended call of the tool. @see {@link Countersign.resume} */
  resume(pending: Pending<A>, options?: ResumeOptions): Promise<Result<T, A>>;
}

/** Options of {@link Countersign.resume}. */
export interface ResumeOptions {
  /**
   * True for a call with a JsonObject as arguments: the tool receives a JsonObject again. Default:
   * the tool receives plain values, and a JsonNumber for a number that a double cannot represent.
   */
  readonly exact?: boolean | undefined;
  /** Stops reading the request. It cancels nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** Clock differences below this are not reported: `Date` headers have whole seconds. */
const CLOCK_DIFFERENCE_MS_MIN = 2_000;

/** Details of a call that does not start. */
interface Refused {
  readonly requestId?: string | undefined;
  readonly note?: string | undefined;
  readonly error?: unknown;
  /** The reason, for the kinds with a general text. */
  readonly cause?: string | undefined;
}

const CALL_OPTIONS = ["idempotencyKey", "reasoning", "context", "timeout", "wait", "signal"];

/**
 * Holds tool calls until a provider approves them, and starts each approved call at most once.
 *
 * @see {@link Countersign.tool} to define a tool
 */
export class Countersign {
  readonly #settings: Settings;
  readonly #clock: ForwardClock;
  readonly #observers: Observers;
  readonly #results: ResultKeeper;
  readonly #cancelling = new BackgroundWork();
  readonly #tools = new Map<string, ToolFunction<object, unknown>>();

  /**
   * Without options, it uses the environment variables COUNTERSIGN_URL and COUNTERSIGN_API_KEY, and
   * the provider records which approvals were used.
   *
   * @throws SdkError `invalid_option` for a missing, invalid or unknown option
   */
  constructor(options: CountersignOptions = {}) {
    this.#settings = readSettings(options);
    this.#clock = new ForwardClock(this.#settings.timing);
    this.#observers = new Observers(options, this.#settings.provider);
    const report = (message: string) => this.#observers.warn(message);
    this.#results = new ResultKeeper(this.#settings.store, this.#settings.provider.url, report);
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
    const attempt = this.#prepare(call);
    const obtained = await this.#obtain(attempt, call, call.wait ?? this.#settings.wait);
    if (obtained.kind !== "answered") return this.#failureOf(obtained);
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
    const attempt = this.#prepare(call);
    const obtained = await this.#obtain(attempt, call, false);
    if (obtained.kind !== "answered") return this.#failureOf(obtained);
    const { id: requestId, status, decision } = obtained.request;
    if (status === "pending") return this.#suspend(attempt, obtained.request);
    if (status === "approved") return { status, requestId };
    return this.#refuse(status, { requestId, note: decision?.note });
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
      return this.#refuse(reason, { requestId: before.id, error });
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

  #prepare<A extends object>(call: ToolCall<A>): Attempt<A> {
    assertKnownOptions("a call", call, ["tool", "arguments", ...CALL_OPTIONS], "invalid_call");
    const { wait, signal } = call;
    if (wait !== undefined && typeof wait !== "boolean") {
      throw new SdkError("invalid_call", "Invalid wait. Expected true or false.");
    }
    if (signal !== undefined && typeof signal.addEventListener !== "function") {
      throw new SdkError("invalid_call", "Invalid signal. Expected an AbortSignal.");
    }
    const { timeout = this.#settings.timeout, idempotencyKey = crypto.randomUUID() } = call;
    const taken = snapshot(call.arguments, "arguments");
    // The request contains the snapshot, so later changes to the original have no effect.
    const submission = readSubmission({ ...call, arguments: taken.json, timeout });
    return {
      idempotencyKey: readKey(idempotencyKey),
      submission,
      snapshot: taken,
      signal,
    };
  }

  async #obtain(attempt: Attempt<object>, call: ToolCall, waits: boolean): Promise<Obtained> {
    const { idempotencyKey, submission, signal } = attempt;
    const { provider, timing, graceMs, cancelTimeout } = this.#settings;
    const { tool, timeout, arguments: args, context } = submission;
    const { reasoning } = call;
    const obtained = await obtainDecision(
      { idempotencyKey, tool, timeout, arguments: args, context, reasoning },
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

  #failureOf(obtained: Exclude<Obtained, { readonly kind: "answered" }>): NotExecuted {
    const requestId = obtained.request?.id;
    if (obtained.kind === "abandoned") return this.#refuse("abandoned", { requestId });
    return this.#refuse("no_decision", { requestId, error: obtained.error });
  }

  /** The final check: permits only a valid and unused approval of exactly these arguments. */
  async #judge<A extends object>(
    attempt: Attempt<A>,
    request: ApprovalRequest,
  ): Promise<Verdict<A>> {
    const { submission, signal, idempotencyKey } = attempt;
    const { provider, timing, store, safetyMarginMs } = this.#settings;
    const { id: requestId, status, decision, createdAt } = request;
    if (status === "pending") return this.#suspend(attempt, request);
    const about = { requestId, note: decision?.note };
    if (status !== "approved") return this.#refuse(status, about);
    try {
      // A custom implementation of `ApprovalProvider` may not have checked it.
      assertHolds(request, submission);
    } catch (error) {
      return this.#refuse("no_decision", { requestId, error });
    }
    if (decision?.expiresAt === undefined) return this.#refuse("no_decision", { requestId });
    const now = () => Math.max(this.#clock.now(), provider.providerNow?.() ?? 0);
    const mayStart = validityOf(decision, { now, timing, marginMs: safetyMarginMs });
    const { expiresAt } = decision;
    const refusal = await recordUse(
      {
        provider,
        store,
        idempotencyKey,
        requestId,
        signal,
        createdAt,
        leadMs: this.#leadMs(),
        expiresAt,
        now,
      },
      mayStart,
    );
    if (refusal?.reason === "lapsed") {
      return this.#refuse("lapsed", { ...about, cause: this.#clockCause() });
    }
    if (refusal !== undefined) return this.#refuse(refusal.reason, { ...about, ...refusal });
    return Object.freeze({
      status: "approved",
      requestId,
      idempotencyKey,
      tool: submission.tool,
      arguments: mutableCopy(attempt.snapshot.value),
      note: decision.note,
      reviewUrl: provider.reviewUrlOf?.(requestId),
      expiresAt,
      isDevelopment: provider.isDevelopment,
      mayStart,
    });
  }

  /** 0 if the provider's time is unknown or differs by less than the accuracy of its dates. */
  #leadMs(): number {
    const { provider, timing } = this.#settings;
    const leadMs = (provider.providerNow?.() ?? timing.now()) - timing.now();
    return Math.abs(leadMs) < CLOCK_DIFFERENCE_MS_MIN ? 0 : leadMs;
  }

  /** @returns undefined when the clocks agree, or the provider's time is unknown */
  #clockCause(): string | undefined {
    const providerNow = this.#settings.provider.providerNow?.();
    if (providerNow === undefined) return undefined;
    const differenceMs = Math.abs(this.#clock.now() - providerNow);
    if (differenceMs < CLOCK_DIFFERENCE_MS_MIN) return undefined;
    const seconds = Math.round(differenceMs / 1_000);
    return (
      `The clocks of this process and of the provider differ by ${seconds} s. ` +
      "Correct the clock and restart the process."
    );
  }

  async #start<A extends object, T>(
    verdict: Verdict<A>,
    run: ToolFunction<A, T>,
    signal: AbortSignal | undefined,
  ): Promise<Result<T, A>> {
    if (verdict.status !== "approved") return verdict;
    const { requestId, note, reviewUrl, isDevelopment } = verdict;
    if (signal?.aborted) return this.#refuse("abandoned", { requestId, note });
    if (!verdict.mayStart()) return this.#refuse("lapsed", { requestId, note });
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

  #suspend<A extends object>(attempt: Attempt<A>, request: ApprovalRequest): Suspended<A> {
    const { provider } = this.#settings;
    return Object.freeze({
      status: "pending",
      reason: "pending",
      messageForModel: messageFor("pending", provider.isDevelopment),
      pending: suspend(attempt, request, provider.url),
      requestId: request.id,
      reviewUrl: provider.reviewUrlOf?.(request.id),
      deadlineAt: request.deadlineAt,
      isDevelopment: provider.isDevelopment,
    });
  }

  #refuse(reason: NotExecutedReason, refused: Refused): NotExecuted {
    const { isDevelopment, reviewUrlOf } = this.#settings.provider;
    const { requestId, note, error } = refused;
    const hasCause = reason === "no_decision" || reason === "not_recorded";
    const cause = hasCause ? sentenceOf(reason, error) : refused.cause;
    const messageForModel = messageFor(reason, isDevelopment, { note, cause });
    if (cause !== undefined) this.#observers.warn(messageForModel);
    const refusal = {
      status: STATUS_OF[reason],
      reason,
      messageForModel,
      requestId,
      note,
      reviewUrl: requestId && reviewUrlOf?.call(this.#settings.provider, requestId),
      isDevelopment,
      error,
    };
    // The compiler does not know that the status belongs to the reason.
    return Object.freeze(refusal) as NotExecuted;
  }
}

const STILL_WAITING = "A call still waits for its decision. The SDK continues to ask.";

/** @returns a sentence about the failure that contains no secret */
function sentenceOf(reason: NotExecutedReason, error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (error instanceof SdkError) return error.message;
  const part = reason === "not_recorded" ? "store" : "client";
  return `The ${part} failed with ${causeOf(error)}.`;
}
