/**
 * The fail-closed loop: a call runs when, and only when, a provider approved these very arguments,
 * the approval has not ended, and its use is recorded. Everything else is a verdict that says why
 * not. Errors, silence, lies and crashes never run anything.
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

export interface GateOptions {
  /** Where the use of approvals is recorded; `FileStore` outlasts a crash. */
  readonly store: ConsumptionStore;
  /** `sync` waits for the decision; `async` returns a Pending to suspend on. `sync` without it. */
  readonly mode?: "sync" | "async";
  /** The window for a decision, like `10m`; `1h` without it. */
  readonly timeout?: string;
  /** How long before its end an approval starts nothing any more; 500 without it. */
  readonly marginMs?: number;
  /** How long after the deadline a poll goes on; 10,000 without it. */
  readonly graceMs?: number;
  /** How long the cancellation of an abandoned request may take; 5,000 without it. */
  readonly cancelMs?: number;
  /**
   * Called with one line when no decision was obtained or the use of an approval was not recorded;
   * writes to stderr without it.
   */
  readonly warn?: (message: string) => void;
  readonly timing?: Timing;
}

export interface Call<A extends object = object> {
  /**
   * Names one attempt to run one call: the same after a crash or a retry of the agent, another for
   * every other attempt. The id that the model gave the call, with that of the run, is a good one.
   */
  readonly key: string;
  readonly tool: string;
  readonly arguments: A;
  /** The agent's own explanation. */
  readonly reasoning?: string | undefined;
  /** What the adapter knows of the runtime. */
  readonly context?: object | undefined;
  /** As in {@link GateOptions}. */
  readonly timeout?: string | undefined;
  /** Abandons the call: nothing starts any more, and the request is cancelled. */
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT = "1h";
const GRACE_MS = 10_000;
const CANCEL_MS = 5_000;

/** Of a saved result. */
const RESULT_CHARS_MAX = 1024 * 1024;

/** `Date` headers have whole seconds. */
const CLOCK_DIFFERENCE_MS_MIN = 2_000;

/** What is known of a call that does not start. */
interface Refused {
  readonly requestId?: string | undefined;
  readonly note?: string | undefined;
  readonly error?: unknown;
  /** Why, for the kinds whose words do not say it. */
  readonly cause?: string | undefined;
}

export class Gate {
  readonly #client: Approvals;
  readonly #options: GateOptions;
  readonly #timing: Timing;
  readonly #clock: ForwardClock;
  readonly #results: Required<Pick<ConsumptionStore, "saveResult" | "loadResult">>;
  readonly #cancelling = new Set<Promise<void>>();

  /** @throws SdkError `invalid_option` */
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

  get mode(): "sync" | "async" {
    return this.#options.mode ?? "sync";
  }

  /**
   * Asks, and runs the call at most once if it may. In mode `async` a call that waits comes back
   * with a verdict `pending`: see {@link Gate.resume}.
   *
   * @param run starts the tool with the arguments it is given, which are frozen
   * @throws what `run` throws; SdkError `invalid_call` for a call that can never be submitted
   */
  async guard<A extends object, T>(
    call: Call<A>,
    run: (approved: A) => T | Promise<T>,
  ): Promise<Outcome<T, A>> {
    const attempt = this.#prepare(call);
    return this.#run(await this.#ask(attempt, call), run, attempt.signal);
  }

  /**
   * Submits and waits. An approved verdict has been recorded as used, so that there is no second
   * one: a program that gets it asks `mayStart()` and starts the call, once.
   *
   * @throws SdkError `invalid_call`
   */
  async check<A extends object>(call: Call<A>): Promise<Verdict<A>> {
    return this.#ask(this.#prepare(call), call);
  }

  /**
   * Submits the call and looks once, in any mode: for frameworks that want to know whether a call
   * waits before they start it. Uses nothing up; `guard` with the same key finds the request again.
   *
   * @returns undefined when it was decided, and when nothing is known: `guard` says which
   * @throws SdkError `invalid_call`
   */
  async submit(call: Call): Promise<Pending | undefined> {
    const attempt = this.#prepare(call);
    const { kind, request } = await this.#obtain(attempt, call, true);
    if (kind !== "answered" || request.status !== "pending") return undefined;
    return suspend(attempt, request, this.#client);
  }

  /**
   * Looks what became of a suspended call, once, and runs it if it may. Pending again when nothing
   * was decided yet. After `no_decision` it can be resumed again: nothing is cancelled here.
   *
   * @param pending as it was returned, perhaps to another process
   * @param signal ends the look
   * @throws what `run` throws; SdkError `invalid_call` when it is of another provider, or damaged
   */
  async resume<T>(
    pending: Pending,
    run: (approved: object) => T | Promise<T>,
    signal?: AbortSignal,
  ): Promise<Outcome<T>> {
    return this.#run(await this.recheck(pending, signal), run, signal);
  }

  /** As {@link Gate.resume}, for who runs the call in another place: see {@link Gate.check}. */
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

  /** Takes a suspended call back, best effort and bounded. */
  async cancel(pending: Pending): Promise<void> {
    const { before } = revive(pending, this.#client, undefined);
    const withinMs = this.#options.cancelMs ?? CANCEL_MS;
    await this.#client.cancel(before, { withinMs }).catch(() => {});
  }

  /** Resolves when no cancellation of an abandoned request is under way: before a process exits. */
  async settled(): Promise<void> {
    while (this.#cancelling.size > 0) await Promise.all(this.#cancelling);
  }

  /**
   * Saves the result of the call that ran under a key, for a framework that asks for it again. A
   * result that cannot be saved is reported to `warn` and is not an error: the call has run.
   *
   * @param text undefined for a result that has no text
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

  /** @returns what {@link Gate.saveResult} saved */
  async loadResult(key: string): Promise<string | undefined> {
    return this.#results.loadResult(this.#idOf(readKey(key)));
  }

  #idOf(key: string): string {
    return `key ${this.#client.url} ${key}`;
  }

  #prepare<A extends object>(call: Call<A>): Attempt<A> {
    const timeout = call.timeout ?? this.#options.timeout ?? TIMEOUT;
    const taken = snapshot(call.arguments, "arguments");
    // The request is made of the snapshot: a change of the original changes nothing.
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

  /** The last door: nothing passes but an approval of these arguments, still good, unused. */
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
      // Another client may not have checked it.
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
    // Recording takes as long as a disk takes.
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
   * Both the key and the request: a provider that forgot the key and made another request of it
   * starts no second call, nor does one that answers two keys with one request.
   */
  async #consume(key: string, requestId: string): Promise<boolean> {
    const { store } = this.#options;
    // Anything but a plain yes is a no.
    if ((await store.consume(this.#idOf(key))) !== true) return false;
    return (await store.consume(`request ${this.#client.url} ${requestId}`)) === true;
  }

  /** The approval has ended. A call that used it before has run, and is not called lapsed. */
  async #refuseLate(key: string, about: Refused): Promise<NotPermitted> {
    const hasRun = await this.#options.store.has?.(this.#idOf(key)).catch(() => false);
    if (hasRun === true) return this.#refuse("already_used", about);
    return this.#refuse("lapsed", { ...about, cause: this.#clockWords() });
  }

  /** @returns undefined when the clocks agree, or the provider's is unknown */
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
    // No await between the look at the clock and the start.
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

  /** Writes one line for the operator, as the option `warn` says: also for adapters. */
  warn(message: string): void {
    const { warn = (line: string) => console.error(line) } = this.#options;
    // A provider's words must not look like another line.
    warn(`Countersign: ${message.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")}`);
  }
}

/** @returns what failed, in words that hold no secret */
function sentenceOf(error: unknown): string | undefined {
  if (error === undefined) return undefined;
  if (error instanceof SdkError) return error.message;
  return `The client failed with ${causeOf(error)}.`;
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}
