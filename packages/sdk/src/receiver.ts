/**
 * The receiver of an instance's webhooks, as a Fetch handler. It answers expected verification
 * challenges, stores every event once, acknowledges it, and then calls `onResolved` until it
 * succeeds.
 *
 * Promises: 2xx means that the event is stored. An event carries no decision: `resume` reads
 * the decision from the provider.
 *
 * @see contract: Events; Endpoints, Webhook operations
 */

import { readBody, TooLarge } from "./body.ts";
import { systemTiming, type Timing } from "./clock.ts";
import { SdkError } from "./errors.ts";
import { isFirst } from "./first-time.ts";
import { assertKnownOptions } from "./known-options.ts";
import type { ReceiverStore, ResolvedEvent } from "./receiver-store.ts";
import {
  BODY_MS_MAX,
  isSignedBy,
  readMessage,
  readSigned,
  type Signed,
  TOLERANCE_S,
  WEBHOOK_BYTES_MAX,
} from "./webhook-message.ts";

/** Options of a {@link Receiver}. */
export interface ReceiverOptions {
  /**
   * Signing secrets by registration id, or a function that returns the secret for an id in lower
   * case. The receiver rejects the verification challenge of an unknown registration with 403.
   */
  readonly registrations:
    | Readonly<Record<string, string>>
    | ((registrationId: string) => Promise<string | undefined> | string | undefined);
  /** Stores verified registrations and events. */
  readonly store: ReceiverStore;
  /**
   * Handles an event. If it fails, the receiver calls it again after 1 s, 2 s, 4 s and so on, up to
   * 5 minutes, until it succeeds or the process exits. After a restart, the new receiver calls it
   * for all unfinished events. It must therefore accept the same event twice.
   */
  readonly onResolved: (event: ResolvedEvent) => Promise<void> | void;
  /** Receives each failure of `onResolved` and of the store. Default: the console. */
  readonly onError?: ((error: unknown, event: ResolvedEvent | undefined) => void) | undefined;
  /** Clocks, timers and randomness. Default: those of the runtime. */
  readonly timing?: Timing | undefined;
}

/** Context of a serverless runtime that stops work after the response, unless it must wait. */
export interface HandlerContext {
  /** Extends the lifetime of the handler until the promise settles. */
  waitUntil?(promise: Promise<unknown>): void;
}

const RECEIVER_OPTIONS = ["registrations", "store", "onResolved", "onError", "timing"];

const RETRY_AFTER_S = "5";

const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 300_000;

/** Receives the webhooks of a provider and notifies the program of resolved requests. */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #timing: Timing;
  /** Events that `onResolved` handles now, or that wait for a retry. */
  readonly #handling = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  /** The search for unfinished events of an earlier process, while it runs. */
  #searching: Promise<void> | undefined;
  #mustSearch = false;
  /** The latest events that this process has started to handle. */
  readonly #started = new Set<string>();

  /**
   * Starts to handle the unfinished events in the store.
   *
   * @throws SdkError `invalid_option` without registrations, a store or `onResolved`
   */
  constructor(options: ReceiverOptions) {
    const { registrations, store, onResolved, timing = systemTiming } = options;
    if (registrations === undefined || store === undefined || typeof onResolved !== "function") {
      throw new SdkError(
        "invalid_option",
        "A receiver needs the options registrations, store and onResolved.",
      );
    }
    assertKnownOptions("new Receiver()", options, RECEIVER_OPTIONS);
    this.#options = options;
    this.#timing = timing;
    this.#search();
  }

  /** Answers one webhook. A bound function, so that a router can call it directly. @throws never */
  readonly fetch = async (request: Request, context: HandlerContext = {}): Promise<Response> => {
    const bound = new AbortController();
    const cancelTimer = this.#timing.after(BODY_MS_MAX, () => bound.abort());
    if (this.#searching !== undefined) context.waitUntil?.(this.settled());
    try {
      if (request.method !== "POST") return reply(405, { allow: "POST" });
      const body = await readBody(request, WEBHOOK_BYTES_MAX, bound.signal);
      return await this.#receive(request.headers, body, context);
    } catch (error) {
      if (error instanceof TooLarge) return reply(400);
      // The event is not stored. Without an acknowledgement, the provider sends it again.
      this.#reportError(error, undefined);
      return reply(503, { "retry-after": RETRY_AFTER_S });
    } finally {
      cancelTimer();
    }
  };

  /** Resolves when every received event is handled, also after retries. */
  async settled(): Promise<void> {
    await this.#searching;
    while (this.#handling.size > 0) await Promise.all(this.#handling.values());
  }

  /**
   * Stops the retries, and resolves when `onResolved` is not running. The next receiver with the
   * same store handles the unfinished events. Call it before the process exits.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.settled();
  }

  async #receive(headers: Headers, body: Uint8Array, context: HandlerContext): Promise<Response> {
    const signed = readSigned(headers, body);
    const message = signed && readMessage(body, signed.id);
    if (signed === undefined || message === undefined) return reply(400);
    const ageS = this.#timing.now() / 1000 - signed.timestampS;
    if (Math.abs(ageS) > TOLERANCE_S) return reply(401);
    const { store } = this.#options;
    if (message.type === "webhook.verification") {
      const { registrationId, instanceId, challenge } = message;
      const secret = await this.#secretOf(registrationId);
      if (secret === undefined) return reply(403);
      if (!(await isSignedBy(signed, secret))) return reply(401);
      await store.bind(instanceId, registrationId);
      return Response.json({ challenge });
    }
    const { event } = message;
    if (!(await this.#isOfItsInstance(signed, event.instanceId))) return reply(401);
    if (await this.#keep(event)) {
      const handling = this.#handle(event);
      context.waitUntil?.(handling);
    }
    return reply(204);
  }

  /** An event has no registration id, so check the secrets of all registrations of its instance. */
  async #isOfItsInstance(signed: Signed, instanceId: string): Promise<boolean> {
    let isSigned = false;
    for (const id of await this.#options.store.registrationsOf(instanceId)) {
      const secret = await this.#secretOf(id);
      if (secret !== undefined && (await isSignedBy(signed, secret))) isSigned = true;
    }
    return isSigned;
  }

  async #secretOf(registrationId: string): Promise<string | undefined> {
    const { registrations } = this.#options;
    if (typeof registrations === "function") return registrations(registrationId);
    // A program may write the ids in upper case.
    const own = Object.entries(registrations);
    return own.find(([id]) => id.toLowerCase() === registrationId)?.[1];
  }

  async #keep(event: ResolvedEvent): Promise<boolean> {
    try {
      return await this.#options.store.keep(event);
    } catch (error) {
      // The event may be stored. The provider's next attempt would then be a duplicate.
      this.#search();
      throw error;
    }
  }

  /** Handles the unfinished events. During a search, it starts another one afterwards. */
  #search(): void {
    this.#mustSearch = true;
    this.#searching ??= this.#searchWhileNeeded().finally(() => {
      this.#searching = undefined;
    });
  }

  /** @throws never */
  async #searchWhileNeeded(): Promise<void> {
    while (this.#mustSearch && !this.#closing.signal.aborted) {
      this.#mustSearch = false;
      await this.#retry(undefined, async () => {
        for (const event of await this.#options.store.unfinished()) this.#handle(event);
      });
    }
  }

  /** Handles an event once, although a delivery and a search can both find it. @throws never */
  #handle(event: ResolvedEvent): Promise<void> {
    const before = this.#handling.get(event.id);
    if (before !== undefined) return before;
    if (!isFirst(this.#started, event.id)) return Promise.resolve();
    const handling = this.#finish(event).finally(() => this.#handling.delete(event.id));
    this.#handling.set(event.id, handling);
    return handling;
  }

  async #finish(event: ResolvedEvent): Promise<void> {
    const { onResolved, store } = this.#options;
    if (!(await this.#retry(event, async () => onResolved(event)))) return;
    await this.#retry(event, () => store.finish(event.id));
  }

  /** @returns false if the receiver was closed before an attempt succeeded. @throws never */
  async #retry(event: ResolvedEvent | undefined, run: () => Promise<void>): Promise<boolean> {
    const { signal } = this.#closing;
    for (
      let delayMs = RETRY_MS_MIN;
      !signal.aborted;
      delayMs = Math.min(delayMs * 2, RETRY_MS_MAX)
    ) {
      try {
        await run();
        return true;
      } catch (error) {
        this.#reportError(error, event);
      }
      // Half of the delay is random, so that several processes do not retry together.
      const pauseMs = delayMs * (0.5 + this.#timing.random() / 2);
      await this.#timing.sleep(pauseMs, signal).catch(() => {});
    }
    return false;
  }

  #reportError(error: unknown, event: ResolvedEvent | undefined): void {
    const { onError = (each: unknown) => console.error("Webhook receiver:", each) } = this.#options;
    try {
      // A failing error handler must not cause another failure, also an asynchronous one.
      Promise.resolve(onError(error, event)).catch(() => {});
    } catch {}
  }
}

function reply(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers });
}
