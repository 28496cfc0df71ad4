/**
 * The fail-closed gate. A call runs only if a provider approved exactly these arguments, the
 * approval is still valid, and the store recorded its use. Otherwise the gate returns a verdict
 * with the reason. Errors, timeouts, invalid responses and crashes never run a call.
 *
 * @see contract: What the service does, 4
 */

import { parseDuration } from "@countersign/protocol";
import type { ApprovalRequest } from "./answer.ts";
import { assertHolds } from "./answer.ts";
import { readBound } from "./bounds.ts";
import { type Approvals, readKey, readSubmission } from "./client.ts";
import { abortable, ForwardClock, systemTiming, type Timing } from "./clock.ts";
import { causeOf } from "./connection.ts";
import { type ConsumptionStore, MemoryStore } from "./consumption-store.ts";
import { SdkError } from "./errors.ts";
import { type Obtained, obtainDecision } from "./obtain-decision.ts";
import { snapshot } from "./snapshot.ts";
import { type Attempt, revive, suspend } from "./suspended-call.ts";
import { MARGIN_MS, validityOf } from "./validity.ts";
import {
  type NotPermitted,
  type Outcome,
  type Pending,
  type RefusalKind,
  type Verdict,
  wordsFor,
} from "./verdict.ts";

/** Options of a {@link Gate}. */
export interface GateOptions {
  /** Records which approvals were used. The records of `FileStore` survive a crash. */
  readonly store: ConsumptionStore;
  /** `sync` waits for the decision. `async` returns a {@link Pending}. Default: `sync`. */
  readonly mode?: "sync" | "async";
  /** Time that reviewers have to decide, such as `10m`. Default: `1h`. */
  readonly timeout?: string;
  /** Safety margin before an approval expires, ms. No call starts within it. Default: 500. */
  readonly marginMs?: number;
  /** Time that the gate continues to poll after the deadline, ms. Default: 10,000. */
  readonly graceMs?: number;
  /** Time limit for cancelling an abandoned request, ms. Default: 5,000. */
  readonly cancelMs?: number;
  /**
   * Receives one line when the gate obtained no decision, or when the store did not record the use
   * of an approval. Default: stderr.
   */
  readonly warn?: (message: string) => void;
  /** Clocks, timers and randomness. Default: those of the runtime. */
  readonly timing?: Timing;
}

/** A tool call to gate. */
export interface Call<A extends object = object> {
  /**
   * Idempotency key: identifies one attempt to run one call. Keep it after a crash or a retry of
   * the agent. Use a new key for every other attempt. Combine the run id with the model's call id.
   */
  readonly key: string;
  /** Name of the tool. */
  readonly tool: string;
  /** Arguments: a plain object of JSON values, or a JsonObject for exact JSON text. */
  readonly arguments: A;
  /** The agent's own explanation. */
  readonly reasoning?: string | undefined;
  /** Facts about the runtime for reviewers and policies, such as the model. */
  readonly context?: object | undefined;
  /** Overrides `timeout` of {@link GateOptions} for this call. */
  readonly timeout?: string | undefined;
  /** Abandons the call: the gate does not start it and cancels the request. */
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT = "1h";
const GRACE_MS = 10_000;
const CANCEL_MS = 5_000;

/** Length limit of a saved result, in UTF-16 code units. */
const RESULT_CHARS_MAX = 1024 * 1024;

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

/**
 * Holds tool calls until a provider approves them, and starts each approved call at most once.
 *
 * @see {@link Gate.guard} to run a call in this process
 */
export class Gate {
  readonly #client: Approvals;
  readonly #options: GateOptions;
  readonly #timing: Timing;
  readonly #clock: ForwardClock;
  readonly #results: Required<Pick<ConsumptionStore, "saveResult" | "loadResult">>;
  readonly #cancelling = new Set<Promise<void>>();

  /**
   * @param client connects to the provider: a {@link Client}, or a {@link DevelopmentClient}
   * @throws SdkError `invalid_option` for a missing store or an invalid option
   */
  constructor(client: Approvals, options: GateOptions) {
    const { store, mode = "sync", timeout = TIMEOUT, timing = systemTiming } = options;
    if (typeof store?.consume !== "function") {
      throw invalid("A gate needs a store: new FileStore(folder), or new MemoryStore().");
    }
    if (mode !== "sync" && mode !== "async") throw invalid("mode must be sync or async.");
    if (parseDuration(timeout) === undefined)
      throw invalid("timeout must be a duration, such as 10m.");
    for (const name of ["marginMs", "graceMs", "cancelMs"] as const) {
      if (options[name] !== 0) readBound(name, options[name], CANCEL_MS);
    }
    const { saveResult, loadResult } = store;
    this.#results =
      saveResult === undefined || loadResult === undefined
        ? new MemoryStore()
        : { saveResult: saveResult.bind(store), loadResult: loadResult.bind(store) };
    this.#client = client;
    this.#options = options;
    this.#timing = timing;
    this.#clock = new ForwardClock(timing);
  }

  /** `sync` if the gate waits for decisions, `async` if it returns a {@link Pending}. */
  get mode(): "sync" | "async" {
    return this.#options.mode ?? "sync";
  }

  /**
   * Submits the call, and runs it at most once if the provider approves it. In mode `async`, an
   * undecided call returns a verdict `pending`: see {@link Gate.resume}.
   *
   * @param run starts the tool with the frozen arguments that it receives
   * @throws any error of `run`; SdkError `invalid_call` for a call that cannot be submitted
   */
  async guard<A extends object, T>(
    call: Call<A>,
    run: (approved: A) => T | Promise<T>,
  ): Promise<Outcome<T, A>> {
    const attempt = this.#prepare(call);
    return this.#run(await this.#ask(attempt, call), run, attempt.signal);
  }

  /**
   * Submits the call and returns its verdict without running it. The store has recorded an approved
   * verdict as used, so the gate returns it only once. Check `mayStart()`, then start the call
   * once.
   *
   * @throws SdkError `invalid_call` for a call that cannot be submitted
   */
  async check<A extends object>(call: Call<A>): Promise<Verdict<A>> {
    return this.#ask(this.#prepare(call), call);
  }

  /**
   * Submits the call and returns immediately, in any mode. Frameworks use it to find out whether a
   * call is undecided before they start it. It does not use the approval: call `guard` with the
   * same key to continue the same request.
   *
   * @returns undefined if the call is decided or its state is unknown; `guard` distinguishes the
   *   two
   * @throws SdkError `invalid_call` for a call that cannot be submitted
   */
  async submit(call: Call): Promise<Pending | undefined> {
    const attempt = this.#prepare(call);
    const { kind, request } = await this.#obtain(attempt, call, true);
    if (kind !== "answered" || request.status !== "pending") return undefined;
    return suspend(attempt, request, this.#client);
  }

  /**
   * Reads the request of a suspended call once, and runs the call if it is approved. Returns a
   * verdict `pending` while the request is undecided. It cancels nothing, so a program can resume
   * the call again after `no_decision`.
   *
   * @param pending the value that a gate returned, in this process or another one
   * @param signal stops reading the request
   * @throws any error of `run`; SdkError `invalid_call` if `pending` is damaged or belongs to
   *   another provider
   */
  async resume<T>(
    pending: Pending,
    run: (approved: object) => T | Promise<T>,
    signal?: AbortSignal,
  ): Promise<Outcome<T>> {
    return this.#run(await this.recheck(pending, signal), run, signal);
  }

  /**
   * Reads the request of a suspended call once and returns its verdict without running the call.
   * An approved verdict counts as used: see {@link Gate.check}.
   *
   * @throws SdkError `invalid_call` if `pending` is damaged or belongs to another provider
   */
  async recheck(pending: Pending, signal?: AbortSignal): Promise<Verdict> {
    const { attempt, before } = revive(pending, this.#client, signal);
    let request: ApprovalRequest;
    try {
      request = await this.#client.read(before, { signal });
    } catch (error) {
      const kind = signal?.aborted ? "abandoned" : "no_decision";
      return this.#refuse(kind, { requestId: before.id, error });
    }
    return this.#judge(attempt, request);
  }

  /**
   * Cancels the request of a suspended call. Best effort within `cancelMs`: a failed cancellation
   * is not reported.
   *
   * @throws SdkError `invalid_call` if `pending` is damaged or belongs to another provider
   */
  async cancel(pending: Pending): Promise<void> {
    const { before } = revive(pending, this.#client, undefined);
    const withinMs = this.#options.cancelMs ?? CANCEL_MS;
    await this.#client.cancel(before, { withinMs }).catch(() => {});
  }

  /** Resolves when all cancellations of abandoned requests are complete. Await it before exit. */
  async settled(): Promise<void> {
    while (this.#cancelling.size > 0) await Promise.all(this.#cancelling);
  }

  /**
   * Saves the result of a call, for a framework that repeats the step of the call. The call has run
   * already, so the gate reports a result that it cannot save to `warn` and throws no error.
   *
   * @param key the key of the call
   * @param text the result, at most 1,048,576 UTF-16 code units; undefined if it has no text form
   */
  async saveResult(key: string, text: string | undefined): Promise<void> {
    let why = "it is not a JSON value";
    try {
      if (text !== undefined && text.length <= RESULT_CHARS_MAX) {
        return await this.#results.saveResult(this.#idOf(key), text);
      }
      if (text !== undefined) why = `it is longer than ${RESULT_CHARS_MAX} characters`;
    } catch (error) {
      why = causeOf(error);
    }
    this.warn(`The result of call ${key} was not saved (${why}). A resumed run will not see it.`);
  }

  /**
   * @returns the text that {@link Gate.saveResult} saved; undefined if there is none
   * @throws SdkError `invalid_call` for an invalid key
   */
  async loadResult(key: string): Promise<string | undefined> {
    return this.#results.loadResult(this.#idOf(readKey(key)));
  }

  #idOf(key: string): string {
    return `key ${this.#client.url} ${key}`;
  }

  #prepare<A extends object>(call: Call<A>): Attempt<A> {
    const timeout = call.timeout ?? this.#options.timeout ?? TIMEOUT;
    const taken = snapshot(call.arguments, "arguments");
    // The request contains the snapshot, so later changes to the original have no effect.
    const submission = readSubmission({ ...call, arguments: taken.json, timeout });
    return { key: readKey(call.key), submission, snapshot: taken, signal: call.signal };
  }

  async #obtain(attempt: Attempt<object>, call: Call, isAsync: boolean): Promise<Obtained> {
    const { key, submission, signal } = attempt;
    const { graceMs = GRACE_MS, cancelMs = CANCEL_MS } = this.#options;
    const { tool, timeout, arguments: args, context } = submission;
    return obtainDecision(
      { key, tool, timeout, arguments: args, context, reasoning: call.reasoning },
      {
        client: this.#client,
        timing: this.#timing,
        isAsync,
        signal,
        graceMs,
        cancelMs,
        inBackground: (cancelling) => {
          const settling = cancelling.finally(() => this.#cancelling.delete(settling));
          this.#cancelling.add(settling);
        },
      },
    );
  }

  async #ask<A extends object>(attempt: Attempt<A>, call: Call<A>): Promise<Verdict<A>> {
    const obtained = await this.#obtain(attempt, call, this.mode === "async");
    const requestId = obtained.request?.id;
    if (obtained.kind === "abandoned") return this.#refuse("abandoned", { requestId });
    if (obtained.kind === "failed") {
      return this.#refuse("no_decision", { requestId, error: obtained.error });
    }
    return this.#judge(attempt, obtained.request);
  }

  /** The final check: permits only a valid and unused approval of exactly these arguments. */
  async #judge<A extends object>(
    attempt: Attempt<A>,
    request: ApprovalRequest,
  ): Promise<Verdict<A>> {
    const { submission, signal } = attempt;
    const { id: requestId, status, decision } = request;
    if (status === "pending") return suspend(attempt, request, this.#client);
    const note = decision?.note;
    if (status !== "approved") return this.#refuse(status, { requestId, note });
    try {
      // A custom implementation of `Approvals` may not have checked it.
      assertHolds(request, submission);
    } catch (error) {
      return this.#refuse("no_decision", { requestId, error });
    }
    if (decision?.expiresAt === undefined) return this.#refuse("no_decision", { requestId });
    const { marginMs = MARGIN_MS } = this.#options;
    const mayStart = validityOf(decision, this.#clock, this.#timing, marginMs);
    const about = { requestId, note };
    if (signal?.aborted) return this.#refuse("abandoned", about);
    if (!mayStart()) return this.#refuseLate(attempt.key, about);
    try {
      // A store that hangs does not block an abandoned call.
      if (!(await abortable(this.#consume(attempt.key, requestId), signal))) {
        return this.#refuse("already_used", about);
      }
    } catch (error) {
      if (signal?.aborted) return this.#refuse("abandoned", about);
      return this.#refuse("not_recorded", { ...about, error });
    }
    if (signal?.aborted) return this.#refuse("abandoned", about);
    // The store can be slow, so check the clock again.
    if (!mayStart()) return this.#refuse("lapsed", { ...about, cause: this.#clockWords() });
    return Object.freeze({
      kind: "approved",
      permitted: true,
      requestId,
      tool: submission.tool,
      arguments: attempt.snapshot.value,
      note,
      expiresAt: decision.expiresAt,
      isDevelopment: this.#client.isDevelopment,
      mayStart,
    });
  }

  /**
   * Consumes both the key and the request id. The call does not run twice, even if the provider
   * creates two requests for one key, or returns one request for two keys.
   */
  async #consume(key: string, requestId: string): Promise<boolean> {
    const { store } = this.#options;
    // Only the value `true` is a success.
    if ((await store.consume(this.#idOf(key))) !== true) return false;
    return (await store.consume(`request ${this.#client.url} ${requestId}`)) === true;
  }

  /** The approval has expired. If the call has run already, the verdict is not `lapsed`. */
  async #refuseLate(key: string, about: Refused): Promise<NotPermitted> {
    const hasRun = await this.#options.store.has?.(this.#idOf(key)).catch(() => false);
    if (hasRun === true) return this.#refuse("already_used", about);
    return this.#refuse("lapsed", { ...about, cause: this.#clockWords() });
  }

  /** @returns undefined when the clocks agree, or the provider's time is unknown */
  #clockWords(): string | undefined {
    const providerNow = this.#client.providerNow?.();
    if (providerNow === undefined) return undefined;
    const differenceMs = Math.abs(this.#clock.now() - providerNow);
    if (differenceMs < CLOCK_DIFFERENCE_MS_MIN) return undefined;
    const seconds = Math.round(differenceMs / 1_000);
    return (
      `The clocks of this process and of the provider differ by ${seconds} s. ` +
      "Correct the clock and restart the process."
    );
  }

  async #run<A extends object, T>(
    verdict: Verdict<A>,
    run: (approved: A) => T | Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<Outcome<T, A>> {
    if (!verdict.permitted) return { ran: false, reason: verdict.reason, verdict };
    const { requestId, note } = verdict;
    const kind = signal?.aborted ? "abandoned" : verdict.mayStart() ? undefined : "lapsed";
    if (kind !== undefined) {
      const refused = this.#refuse(kind, { requestId, note });
      return { ran: false, reason: refused.reason, verdict: refused };
    }
    // No await between the clock check and the start.
    return { ran: true, value: await run(verdict.arguments), verdict };
  }

  #refuse(kind: RefusalKind, refused: Refused): NotPermitted {
    const { isDevelopment } = this.#client;
    const { requestId, note, error } = refused;
    const cause = kind === "no_decision" ? sentenceOf(error) : refused.cause;
    const reason = wordsFor(kind, isDevelopment, { note, cause });
    if (kind === "not_recorded") this.warn(`${reason} The store failed: ${causeOf(error)}.`);
    else if (cause !== undefined) this.warn(reason);
    const verdict = { kind, permitted: false, reason, requestId, note, isDevelopment, error };
    return Object.freeze(verdict) as NotPermitted;
  }

  /** Sends one line to the operator through the option `warn`. Adapters use it too. */
  warn(message: string): void {
    const { warn = (line: string) => console.error(line) } = this.#options;
    // A provider's text must not inject a second line.
    warn(`Countersign: ${message.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")}`);
  }
}

/** @returns a sentence about the failure that contains no secret */
function sentenceOf(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (error instanceof SdkError) return error.message;
  return `The client failed with ${causeOf(error)}.`;
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}
