/**
 * One side of an MCP connection: requests go out under numbers of our own and find their answers;
 * requests that come in are given to a handler and answered. Cancellation travels with both, so
 * code that relays a request relays its end by passing a signal.
 *
 * Promises: an outgoing request is sent once at most and ends when the connection does; memory is
 * bounded.
 */

import type { JsonObject } from "@countersign/protocol";
import type { Channel, HttpExchange } from "./channel.ts";
import {
  CODE,
  type Exact,
  errorOf,
  exact,
  type NotificationMessage,
  type Received,
  type Reply,
  sourceOf,
  textIn,
} from "./exact-message.ts";
import { explain, type Report } from "./report.ts";

export interface IncomingRequest {
  /** As JSON. */
  readonly id: string;
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** The other side takes it back, or is gone. */
  readonly cancelled: AbortSignal;
  /** Aborted when the other side is gone. The request may still run. */
  readonly disconnected: AbortSignal;
  readonly http?: HttpExchange | undefined;
}

export type IncomingNotification = NotificationMessage<JsonObject>;

export interface PeerEvents {
  /** @throws for whatever has no answer of its own: an internal error is answered */
  request(request: IncomingRequest): Promise<Reply>;
  notification(notification: IncomingNotification): void;
  ended(reason: string): void;
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** The other side's request that this one belongs to. */
  readonly about?: string | undefined;
  /** For a transport that has headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

type ReceivedRequest = Extract<Received, { kind: "request" }>;

interface Outgoing {
  readonly reply: (reply: Reply<JsonObject>) => void;
  readonly fail: (error: Error) => void;
}

interface Incoming {
  readonly cancelled: AbortController;
  readonly disconnected: AbortController;
}

/** Of one side, at a time. Far above what clients and servers do. */
const REQUESTS_MAX = 1_000;

/** No answer will come: the connection is gone. Whether the request arrived is unknown. */
export class PeerGone extends Error {}

export class Peer {
  readonly #channel: Channel;
  readonly #events: PeerEvents;
  readonly #report: Report;
  readonly #outgoing = new Map<string, Outgoing>();
  readonly #incoming = new Map<string, Incoming>();
  #next = 0;
  #closeReason: string | undefined;

  constructor(channel: Channel, events: PeerEvents, report: Report) {
    this.#channel = channel;
    this.#events = events;
    this.#report = report;
  }

  /** @throws when the channel cannot be opened */
  async start(): Promise<void> {
    await this.#channel.start({
      message: (message, http) => this.#take(message, http),
      ended: (reason) => this.#end(reason),
      lost: (id) => this.#lose(id),
    });
  }

  get isGone(): boolean {
    return this.#closeReason !== undefined;
  }

  /** Ids of the other side's requests that are not answered, the latest last. */
  get unanswered(): readonly string[] {
    return [...this.#incoming.keys()];
  }

  /**
   * @throws PeerGone; the signal's reason, after the other side was notified
   */
  async request(
    method: string,
    params: Exact | undefined,
    options: RequestOptions = {},
  ): Promise<Reply<JsonObject>> {
    const { signal, about, headers } = options;
    signal?.throwIfAborted();
    if (this.#closeReason !== undefined) throw new PeerGone(this.#closeReason);
    if (this.#outgoing.size >= REQUESTS_MAX) throw new PeerGone("too many requests are unanswered");
    const id = String(++this.#next);
    const answered = Promise.withResolvers<Reply<JsonObject>>();
    this.#outgoing.set(id, { reply: answered.resolve, fail: answered.reject });
    const cancel = () => {
      answered.reject(signal?.reason);
      const params = exact({ requestId: Number(id), reason: "cancelled" });
      this.notify("notifications/cancelled", params, about).catch(() => {});
    };
    signal?.addEventListener("abort", cancel, { once: true });
    const message = { kind: "request", id, method, params } as const;
    this.#channel.send(message, about, headers).catch((error: unknown) => {
      answered.reject(new PeerGone(explain(error), { cause: error }));
    });
    try {
      return await answered.promise;
    } finally {
      signal?.removeEventListener("abort", cancel);
      this.#outgoing.delete(id);
    }
  }

  /** @throws when it could not be sent */
  async notify(method: string, params: Exact | undefined, about?: string): Promise<void> {
    if (this.#closeReason !== undefined) return;
    await this.#channel.send({ kind: "notification", method, params }, about);
  }

  negotiated(version: string): void {
    this.#channel.negotiated?.(version);
  }

  async close(reason: string): Promise<void> {
    this.#end(reason);
    await this.#channel.close();
  }

  #take(message: Received, http: HttpExchange | undefined): void {
    if (this.#closeReason !== undefined) return;
    if (message.kind === "request") this.#serve(message, http);
    else if (message.kind === "response") {
      const { id, outcome, value } = message;
      this.#outgoing.get(id)?.reply({ outcome, value });
    } else if (message.method === "notifications/cancelled") this.#cancel(message.params);
    else this.#events.notification(message);
  }

  #cancel(params: JsonObject | undefined): void {
    const id = params?.members.get("requestId");
    if (id === undefined) return;
    const reason = textIn(params, "reason") ?? "cancelled";
    this.#incoming.get(sourceOf(id))?.cancelled.abort(new Error(reason));
  }

  #serve({ id, method, params }: ReceivedRequest, http: HttpExchange | undefined): void {
    if (this.#incoming.has(id) || this.#incoming.size >= REQUESTS_MAX) {
      const message = "Another request has this id, or too many are unanswered.";
      this.#answer(id, errorOf(CODE.invalidRequest, message));
      return;
    }
    const incoming = { cancelled: new AbortController(), disconnected: new AbortController() };
    this.#incoming.set(id, incoming);
    const { cancelled, disconnected } = incoming;
    const request = {
      id,
      method,
      params,
      cancelled: cancelled.signal,
      disconnected: disconnected.signal,
      http,
    };
    this.#events
      .request(request)
      .catch((error: unknown) => {
        if (!cancelled.signal.aborted) {
          this.#report("request_failed", { method, reason: explain(error) });
        }
        return errorOf(CODE.internal, "Internal error of the gateway. See its log.");
      })
      .then((reply) => {
        this.#incoming.delete(id);
        // A peer that has cancelled the request expects no answer.
        if (!cancelled.signal.aborted) this.#answer(id, reply);
      });
  }

  #answer(id: string, reply: Reply): void {
    this.#channel.send({ kind: "response", id, ...reply }).catch((error: unknown) => {
      this.#report("answer_not_delivered", { reason: explain(error) });
    });
  }

  #lose(id: string): void {
    this.#incoming.get(id)?.disconnected.abort(new Error("the client disconnected"));
    this.#outgoing.get(id)?.fail(new PeerGone("the connection ended before the answer"));
  }

  #end(reason: string): void {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = reason;
    for (const { fail } of this.#outgoing.values()) fail(new PeerGone(reason));
    for (const { cancelled } of this.#incoming.values()) cancelled.abort(new Error(reason));
    this.#events.ended(reason);
  }
}
