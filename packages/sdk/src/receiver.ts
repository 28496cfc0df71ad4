/**
 * The receiver of an instance's webhooks, as a Fetch handler: proves itself to challenges that are
 * expected, keeps every event once, acknowledges it, and then notifies its resumers.
 *
 * Promises: 2xx means that it is kept. A wake is a hint: `gate.resume` reads what was decided.
 *
 * @see contract: Events; Endpoints, Webhook operations
 */

import { readBody, TooLarge } from "./body.ts";
import { systemTiming, type Timing } from "./clock.ts";
import { SdkError } from "./errors.ts";
import type { ReceiverStore, ResolvedEvent } from "./receiver-store.ts";
import { isSignedBy, readMessage, readSigned, type Signed } from "./webhook-message.ts";

/** Called with an event; again after a crash, or when it has failed: so it may come twice. */
export type Resumer = (event: ResolvedEvent) => Promise<void> | void;

export interface ReceiverOptions {
  /**
   * Signing secrets by registration id, or a look-up in the place where they are, by the id in
   * lower case. What is not there is not expected, and gets no answer to its challenge.
   */
  readonly registrations:
    | Readonly<Record<string, string>>
    | ((registrationId: string) => Promise<string | undefined> | string | undefined);
  readonly store: ReceiverStore;
  /** Each is called with every new event. */
  readonly resumers: Readonly<Record<string, Resumer>>;
  /** Receives failures of a resumer or of the store. Default: the console. */
  readonly onError?: (error: unknown, event: ResolvedEvent | undefined) => void;
  readonly timing?: Timing;
}

/** What a runtime gives that would otherwise stop working when the response is out. */
export interface HandlerContext {
  waitUntil?(promise: Promise<unknown>): void;
}

export const WEBHOOK_BYTES_MAX = 16_384;

/** A sender that is silent for longer than its attempt may last. */
const BODY_MS_MAX = 10_000;

/** @see contract: Limits, Signature timestamp tolerance */
const TOLERANCE_S = 300;

const RETRY_AFTER_S = "5";

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #timing: Timing;
  /** Events whose resumers are running. */
  readonly #waking = new Map<string, Promise<void>>();

  /** @throws SdkError `invalid_option` */
  constructor(options: ReceiverOptions) {
    if (options.store === undefined || options.resumers === undefined) {
      throw new SdkError("invalid_option", "A receiver needs registrations, a store and resumers.");
    }
    this.#options = options;
    this.#timing = options.timing ?? systemTiming;
  }

  /** Answers one webhook. Bound, so that it can be handed to a router. @throws never */
  readonly fetch = async (request: Request, context: HandlerContext = {}): Promise<Response> => {
    const bound = new AbortController();
    const cancelTimer = this.#timing.after(BODY_MS_MAX, () => bound.abort());
    try {
      if (request.method !== "POST") return reply(405, { allow: "POST" });
      const body = await readBody(request, WEBHOOK_BYTES_MAX, bound.signal);
      return await this.#receive(request.headers, body, context);
    } catch (error) {
      if (error instanceof TooLarge) return reply(400);
      // It is not kept, so it is not acknowledged and comes again.
      this.#reportError(error, undefined);
      return reply(503, { "retry-after": RETRY_AFTER_S });
    } finally {
      cancelTimer();
    }
  };

  /**
   * Notifies the resumers of stored, unfinished events: to be called when a process
   * starts, and again after a resumer has failed. Resolves when all have been tried.
   */
  async resumeUnfinished(): Promise<void> {
    const events = await this.#options.store.unfinished();
    await Promise.all(events.map((event) => this.#wake(event)));
  }

  /** Resolves when no resumer is running any more. */
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

  /** An event names no registration: the secret is of one that its instance was verified under. */
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
    // Their case is the provisioner's choice.
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
