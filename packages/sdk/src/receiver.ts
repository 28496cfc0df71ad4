/**
 * The receiver of an instance's webhooks, as a Fetch handler. It answers expected verification
 * challenges, stores every event once, acknowledges it, and then notifies its resumers.
 *
 * Promises: 2xx means that the event is stored. An event carries no decision: `gate.resume` reads
 * the decision from the provider.
 *
 * @see contract: Events; Endpoints, Webhook operations
 */

import { readBody, TooLarge } from "./body.ts";
import { systemTiming, type Timing } from "./clock.ts";
import { SdkError } from "./errors.ts";
import type { ReceiverStore, ResolvedEvent } from "./receiver-store.ts";
import { isSignedBy, readMessage, readSigned, type Signed } from "./webhook-message.ts";

/**
 * Handles an event. The receiver calls it again after a crash or a failure, so it must accept the
 * same event twice.
 */
export type Resumer = (event: ResolvedEvent) => Promise<void> | void;

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
  /** Functions that handle events, by name. The receiver calls each one with every new event. */
  readonly resumers: Readonly<Record<string, Resumer>>;
  /** Receives failures of a resumer or of the store. Default: the console. */
  readonly onError?: (error: unknown, event: ResolvedEvent | undefined) => void;
  /** Clocks, timers and randomness. Default: those of the runtime. */
  readonly timing?: Timing;
}

/** Context of a serverless runtime that stops work after the response, unless it must wait. */
export interface HandlerContext {
  /** Extends the lifetime of the handler until the promise settles. */
  waitUntil?(promise: Promise<unknown>): void;
}

/** Size limit of a webhook body, bytes. */
export const WEBHOOK_BYTES_MAX = 16_384;

/** Time limit for reading a body. A sender's attempt does not last longer. */
const BODY_MS_MAX = 10_000;

/** @see contract: Limits, Signature timestamp tolerance */
const TOLERANCE_S = 300;

const RETRY_AFTER_S = "5";

/** Receives the webhooks of a provider and notifies the program of resolved requests. */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #timing: Timing;
  /** Events whose resumers are running. */
  readonly #waking = new Map<string, Promise<void>>();

  /** @throws SdkError `invalid_option` without a store or resumers */
  constructor(options: ReceiverOptions) {
    if (options.store === undefined || options.resumers === undefined) {
      throw new SdkError("invalid_option", "A receiver needs registrations, a store and resumers.");
    }
    this.#options = options;
    this.#timing = options.timing ?? systemTiming;
  }

  /** Answers one webhook. A bound function, so that a router can call it directly. @throws never */
  readonly fetch = async (request: Request, context: HandlerContext = {}): Promise<Response> => {
    const bound = new AbortController();
    const cancelTimer = this.#timing.after(BODY_MS_MAX, () => bound.abort());
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

  /**
   * Notifies the resumers of stored, unfinished events. Call it when a process starts, and after a
   * resumer has failed. Resolves when every resumer was called; failures go to `onError`.
   *
   * @throws any error of `store.unfinished`
   */
  async resumeUnfinished(): Promise<void> {
    const events = await this.#options.store.unfinished();
    await Promise.all(events.map((event) => this.#wake(event)));
  }

  /** Resolves when no resumer is running. */
  async settled(): Promise<void> {
    while (this.#waking.size > 0) await Promise.all(this.#waking.values());
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
    if (await store.keep(event)) {
      const woken = this.#wake(event);
      context.waitUntil?.(woken);
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

  /** @throws never */
  #wake(event: ResolvedEvent): Promise<void> {
    const before = this.#waking.get(event.id);
    if (before !== undefined) return before;
    const waking = this.#notifyResumers(event).finally(() => this.#waking.delete(event.id));
    this.#waking.set(event.id, waking);
    return waking;
  }

  async #notifyResumers(event: ResolvedEvent): Promise<void> {
    const { resumers, store } = this.#options;
    let hasFailed = false;
    for (const resume of Object.values(resumers)) {
      try {
        await resume(event);
      } catch (error) {
        hasFailed = true;
        this.#reportError(error, event);
      }
    }
    if (hasFailed) return;
    await store.finish(event.id).catch((error: unknown) => this.#reportError(error, event));
  }

  #reportError(error: unknown, event: ResolvedEvent | undefined): void {
    const { onError = (each: unknown) => console.error("Webhook receiver:", each) } = this.#options;
    try {
      onError(error, event);
    } catch {
      // A failing error handler must not cause another failure.
    }
  }
}

function reply(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers });
}
