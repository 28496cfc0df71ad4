/**
 * The fail-closed loop: a call runs when, and only when, a provider approved these very arguments,
 * the approval has not ended, and its use is recorded. Everything else is a verdict that says why
 * not. Errors, silence, lies and crashes never run anything.
 *
 * @see contract: What the service does, 4
 */

import { parseDuration } from "@countersign/protocol";
import type { ApprovalRequest, Submission } from "./answer.ts";
import { assertHolds } from "./answer.ts";
import { type Approvals, readKey, readSubmission } from "./client.ts";
import { abortable, ForwardClock, systemTiming, type Timing } from "./clock.ts";
import type { ConsumptionStore } from "./consumption-store.ts";
import { SdkError } from "./errors.ts";
import { type Obtained, obtainDecision } from "./obtain-decision.ts";
import { type Snapshot, snapshot, snapshotOfText } from "./snapshot.ts";
import { MARGIN_MS, validityOf } from "./validity.ts";
import {
  type NotPermitted,
  type Outcome,
  type Pending,
  type RefusalKind,
  readPending,
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
  /** For taking back a request that is given up, after which nobody waits; 5,000 without it. */
  readonly cancelMs?: number;
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

/** A call that was submitted, as it will be judged. */
interface Attempt<A extends object> {
  readonly key: string;
  readonly submission: Submission;
  readonly snapshot: Snapshot<A>;
  readonly signal: AbortSignal | undefined;
}

export class Gate {
  readonly #client: Approvals;
  readonly #options: GateOptions;
  readonly #timing: Timing;
  readonly #clock: ForwardClock;

  /** @throws SdkError `invalid_option` */
  constructor(client: Approvals, options: GateOptions) {
    const { store, mode = "sync", timeout = TIMEOUT, timing = systemTiming } = options;
    if (typeof store?.consume !== "function") {
      throw invalid("A gate needs a store: new FileStore(folder), or new MemoryStore().");
    }
    if (mode !== "sync" && mode !== "async") throw invalid("mode is sync or async.");
    if (parseDuration(timeout) === undefined) throw invalid("timeout is a duration like 10m.");
    for (const name of ["marginMs", "graceMs", "cancelMs"] as const) {
      const ms = options[name] ?? 0;
      if (!(ms >= 0 && Number.isFinite(ms))) throw invalid(`${name} is a number from 0.`);
    }
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
   * Asks. An approved verdict has been recorded as used, so that there is no second one: whoever
   * gets it asks `mayStart()` and starts the call, once.
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
    return this.#suspend(attempt, request);
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
    const { attempt, before } = this.#revive(pending, signal);
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
    const { before } = this.#revive(pending, undefined);
    const withinMs = this.#options.cancelMs ?? CANCEL_MS;
    await this.#client.cancel(before, { withinMs }).catch(() => {});
  }

  #prepare<A extends object>(call: Call<A>): Attempt<A> {
    const timeout = call.timeout ?? this.#options.timeout ?? TIMEOUT;
    const taken = snapshot(call.arguments, "arguments");
    // What is submitted is made of the snapshot: whoever changes the original changes nothing.
    const submission = readSubmission({ ...call, arguments: taken.json, timeout });
    return { key: readKey(call.key), submission, snapshot: taken, signal: call.signal };
  }

  async #obtain(attempt: Attempt<object>, call: Call, isAsync: boolean): Promise<Obtained> {
    const { key, submission, signal } = attempt;
    const { graceMs = GRACE_MS, cancelMs = CANCEL_MS } = this.#options;
    const { tool, timeout, arguments: args, context } = submission;
    return obtainDecision(
      { key, tool, timeout, arguments: args, context, reasoning: call.reasoning },
      { client: this.#client, timing: this.#timing, isAsync, signal, graceMs, cancelMs },
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
    if (status === "pending") return this.#suspend(attempt, request);
    const note = decision?.note;
    if (status !== "approved") return this.#refuse(status, { requestId, note });
    try {
      // A client of somebody else's may not have looked.
      assertHolds(request, submission);
    } catch (error) {
      return this.#refuse("no_decision", { requestId, error });
    }
    if (decision?.expiresAt === undefined) return this.#refuse("no_decision", { requestId });
    const { marginMs = MARGIN_MS } = this.#options;
    const mayStart = validityOf(decision, this.#clock, this.#timing, marginMs);
    const about = { requestId, note };
    if (signal?.aborted) return this.#refuse("abandoned", about);
    if (!mayStart()) return this.#refuse("lapsed", about);
    try {
      // A store that hangs holds nobody who abandons.
      if (!(await abortable(this.#consume(attempt.key, requestId), signal))) {
        return this.#refuse("already_used", about);
      }
    } catch (error) {
      if (signal?.aborted) return this.#refuse("abandoned", about);
      return this.#refuse("not_recorded", { ...about, error });
    }
    if (signal?.aborted) return this.#refuse("abandoned", about);
    // Recording takes as long as a disk takes.
    if (!mayStart()) return this.#refuse("lapsed", about);
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
    const { url } = this.#client;
    // Anything but a plain yes is a no.
    if ((await store.consume(`key ${url} ${key}`)) !== true) return false;
    return (await store.consume(`request ${url} ${requestId}`)) === true;
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

  #refuse(
    kind: RefusalKind,
    about: { readonly requestId?: string | undefined; readonly note?: string | undefined } & {
      readonly error?: unknown;
    },
  ): NotPermitted {
    const { isDevelopment } = this.#client;
    const { requestId, note, error } = about;
    const reason = wordsFor(kind, note, isDevelopment);
    const verdict = { kind, permitted: false, reason, requestId, note, isDevelopment, error };
    return Object.freeze(verdict) as NotPermitted;
  }

  #suspend<A extends object>(attempt: Attempt<A>, request: ApprovalRequest): Pending {
    const { submission, snapshot: taken, key } = attempt;
    const { tool, timeout, agentReasoning, context, arguments: args } = submission;
    const { isDevelopment, url } = this.#client;
    return Object.freeze({
      kind: "pending",
      permitted: false,
      reason: wordsFor("pending", undefined, isDevelopment),
      isDevelopment,
      url,
      key,
      requestId: request.id,
      tool,
      argumentsJson: args.source,
      isExact: (taken.value as object) === taken.json,
      timeout,
      ...(agentReasoning !== undefined && { reasoning: agentReasoning }),
      ...(context !== undefined && { contextJson: context.source }),
      createdAt: request.createdAt,
      deadlineAt: request.deadlineAt,
    });
  }

  /** @throws SdkError `invalid_call` */
  #revive(
    given: Pending,
    signal: AbortSignal | undefined,
  ): { readonly attempt: Attempt<object>; readonly before: ApprovalRequest } {
    const pending = readPending(given);
    if (pending.url !== this.#client.url) {
      throw new SdkError("invalid_call", "This Pending is of another provider than the gate's.");
    }
    const { tool, timeout, reasoning, contextJson, createdAt, deadlineAt } = pending;
    const taken = snapshotOfText(pending.argumentsJson, pending.isExact, "argumentsJson");
    const context =
      contextJson === undefined ? undefined : snapshotOfText(contextJson, true, "contextJson").json;
    const submission = readSubmission({ tool, timeout, reasoning, context, arguments: taken.json });
    const before = {
      ...submission,
      id: pending.requestId,
      status: "pending",
      createdAt,
      deadlineAt,
      decision: undefined,
    } as const;
    return { attempt: { key: readKey(pending.key), submission, snapshot: taken, signal }, before };
  }
}

function invalid(message: string): SdkError {
  return new SdkError("invalid_option", message);
}
