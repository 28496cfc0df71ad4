/**
 * One receiver as a provisioner registers it: an address, an id, a secret, and how its messages
 * are answered.
 */

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { SecretList } from "../client/secret-list.ts";
import type { RequirementId } from "../contract/index.ts";
import { Violation } from "../violation.ts";
import { type Arrived, type Message, readMessage } from "./message.ts";

/** How a message is answered. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Not at all, until the sender gives up. */
export const HELD = "held";

type Answering = (
  message: Message,
  /** How many of its kind came before it. */
  index: number,
) => Reply | typeof HELD | Promise<Reply | typeof HELD>;

/** The behavior of a receiver that a scenario needs. */
export interface Plan {
  /** With the challenge, without it. */
  readonly onVerification?: Answering;
  /** With 204, without it. */
  readonly onNotification?: Answering;
  /** Behind the certificate that no provider should trust. */
  readonly untrusted?: boolean;
  /** Nothing may come here: whatever does breaks this rule. */
  readonly forbidden?: RequirementId;
}

export interface Identity {
  readonly url: string;
  readonly target: string;
  readonly registrationId: string;
  readonly secret: string;
}

export class Registration {
  readonly url: string;
  readonly target: string;
  readonly registrationId: string;
  readonly secret: string;
  readonly verifications: Message[] = [];
  readonly notifications: Message[] = [];
  /** The first rule that a message was seen to break. */
  violation: Violation | undefined;
  /** Messages of one id that came before an earlier one had ended. */
  overlaps = 0;
  /** How long senders held on that got no answer, in ms. */
  readonly heldMs: number[] = [];
  readonly #plan: Plan;
  readonly #secrets: SecretList;
  readonly #events = new EventTarget();
  readonly #outstanding = new Set<string>();

  constructor(identity: Identity, plan: Plan, secrets: SecretList) {
    this.url = identity.url;
    this.target = identity.target;
    this.registrationId = identity.registrationId;
    this.secret = identity.secret;
    this.#plan = plan;
    this.#secrets = secrets;
  }

  /** The input that configures it. */
  get delivery(): Readonly<Record<string, string>> {
    return {
      type: "webhook",
      url: this.url,
      registration_id: this.registrationId,
      signing_secret: this.secret,
    };
  }

  async receive(arrived: Arrived, response: ServerResponse): Promise<void> {
    let message: Message;
    try {
      const { forbidden } = this.#plan;
      if (forbidden !== undefined) throw new Violation(forbidden, "a message came where none may");
      message = readMessage(arrived, this, this.#secrets);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.violation ??= error;
      this.#changed();
      response.writeHead(400).end();
      return;
    }
    const list = message.kind === "verification" ? this.verifications : this.notifications;
    const index = list.push(message) - 1;
    if (this.#outstanding.has(message.id)) this.overlaps++;
    this.#outstanding.add(message.id);
    const closed = once(response, "close");
    this.#changed();
    const reply = await this.#reply(message, index);
    if (reply !== HELD && !response.destroyed) {
      response.writeHead(reply.status, reply.headers).end(reply.body);
    }
    await closed;
    this.#outstanding.delete(message.id);
    if (reply === HELD) this.heldMs.push(performance.now() - message.arrivedAt);
    this.#changed();
  }

  /** Waits until something that has arrived makes it true. @returns false when the time is over */
  async until(condition: () => boolean, boundMs: number, signal: AbortSignal): Promise<boolean> {
    const bound = AbortSignal.timeout(boundMs);
    const either = AbortSignal.any([bound, signal]);
    while (this.violation === undefined && !condition()) {
      const change = once(this.#events, "change", { signal: either });
      await change.catch(() => {});
      signal.throwIfAborted();
      if (bound.aborted) break;
    }
    if (this.violation !== undefined) throw this.violation;
    return condition();
  }

  async #reply(message: Message, index: number): Promise<Reply | typeof HELD> {
    const { onVerification, onNotification } = this.#plan;
    if (message.kind === "notification") {
      return onNotification === undefined ? { status: 204 } : onNotification(message, index);
    }
    return onVerification === undefined ? challenged(message) : onVerification(message, index);
  }

  #changed(): void {
    this.#events.dispatchEvent(new Event("change"));
  }
}

/** The answer of a receiver that has the registration and verified the signature. */
export function challenged({ challenge }: Message): Reply {
  const headers = { "content-type": "application/json" };
  return { status: 200, headers, body: JSON.stringify({ challenge }) };
}
