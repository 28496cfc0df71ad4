/**
 * One event stream with the server, kept open: `GET /review/v1/events`. Runs once per browser, in
 * a shared worker or in the leading tab, which pass its messages to all tabs.
 */

import type { StreamEvents } from "@countersign/review-api";

/** A hint of the server; its reader fetches what changed. */
export type FeedEvent =
  | { readonly name: "request"; readonly id: string }
  | { readonly name: "freezes" }
  /** The permissions of the caller have changed. */
  | { readonly name: "caller" }
  | { readonly name: "pulse" };

export type FeedMessage =
  | { readonly kind: "opening" }
  /**
   * The stream is open: everything that was fetched before may be old. Silence of `silenceMs` means
   * that the connection is broken.
   */
  | { readonly kind: "open"; readonly silenceMs: number }
  | { readonly kind: "event"; readonly event: FeedEvent }
  /** The stream is broken; what is shown may be old. */
  | { readonly kind: "lost" }
  /** The server gives no stream: each tab polls. */
  | { readonly kind: "poll" }
  | { readonly kind: "signed-out" };

/**
 * A connection that missed this many heartbeats is broken. With the grace period of live.ts, a page
 * shows it within 5 s.
 */
const PULSES_MISSED = 2;
const PULSE_LATE_MS = 200;
const OPENING_MS = 8_000;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 3_000;
/** How often a stream is requested again that the server does not give. */
const REFUSED_MS = 15_000;
const POLL_MS = 2_000;

/** Each session and project has a feed of its own. */
export function feedName(sessionId: string, project: string): string {
  return `${sessionId}/${project}`;
}

/** @param name of the feed */
export function projectOfFeed(name: string): string {
  return name.split("/")[1] ?? "";
}

export class Feed {
  readonly #url: string;
  readonly #root: string;
  readonly #send: (message: FeedMessage) => void;
  #source: EventSource | undefined;
  #state: FeedMessage = { kind: "opening" };
  #retryMs = RETRY_MS_MIN;
  #silenceMs = OPENING_MS;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #next: ReturnType<typeof setTimeout> | undefined;
  #polling: ReturnType<typeof setInterval> | undefined;
  readonly #onOffline = () => this.#lose();
  readonly #onOnline = () => {
    if (this.#state.kind !== "open") this.#open();
  };

  /**
   * Opens the stream.
   *
   * @param root the address of the server, with a slash at its end
   * @param project its id
   * @param send receives every message, `open` before the first event
   */
  constructor(root: string, project: string, send: (message: FeedMessage) => void) {
    this.#root = root;
    this.#url = `${root}review/v1/events?project=${project}`;
    this.#send = send;
    addEventListener("offline", this.#onOffline);
    addEventListener("online", this.#onOnline);
    this.#open();
  }

  /** The first message for a tab that joins. */
  get state(): FeedMessage {
    return this.#state;
  }

  close(): void {
    removeEventListener("offline", this.#onOffline);
    removeEventListener("online", this.#onOnline);
    this.#disconnect();
    clearInterval(this.#polling);
  }

  #become(state: FeedMessage): void {
    this.#state = state;
    this.#send(state);
  }

  #expectWithin(ms: number): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#lose(), ms);
  }

  #open(): void {
    this.#disconnect();
    const source = new EventSource(this.#url);
    this.#source = source;
    this.#expectWithin(OPENING_MS);
    const on = <Name extends keyof StreamEvents>(
      name: Name,
      act: (data: StreamEvents[Name]) => void,
    ) =>
      source.addEventListener(name, ({ data }: MessageEvent<string>) => {
        this.#expectWithin(this.#silenceMs);
        act(JSON.parse(data));
      });
    const pass = (event: FeedEvent) => this.#send({ kind: "event", event });
    on("ready", ({ pulse_ms }) => {
      this.#silenceMs = PULSES_MISSED * pulse_ms + PULSE_LATE_MS;
      this.#expectWithin(this.#silenceMs);
      this.#retryMs = RETRY_MS_MIN;
      clearInterval(this.#polling);
      this.#become({ kind: "open", silenceMs: this.#silenceMs });
    });
    on("request", ({ id }) => pass({ name: "request", id }));
    on("freezes", () => pass({ name: "freezes" }));
    on("caller", () => pass({ name: "caller" }));
    on("pulse", () => pass({ name: "pulse" }));
    on("end", () => this.#lose());
    source.onerror = () => this.#lose();
  }

  #disconnect(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#next);
    this.#source?.close();
    this.#source = undefined;
  }

  #lose(): void {
    const wasOpen = this.#state.kind === "open";
    this.#disconnect();
    if (this.#state.kind !== "poll") this.#become({ kind: "lost" });
    if (wasOpen) this.#retry();
    else void this.#diagnose();
  }

  #retry(): void {
    this.#openIn(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }

  #openIn(ms: number): void {
    clearTimeout(this.#next);
    this.#next = setTimeout(() => this.#open(), ms);
  }

  /** An EventSource that never opened does not report the status. */
  async #diagnose(): Promise<void> {
    const status = await statusOf(`${this.#root}review/v1/session`);
    clearInterval(this.#polling);
    if (status === 200) {
      this.#become({ kind: "poll" });
      this.#polling = setInterval(() => this.#send({ kind: "poll" }), POLL_MS);
      this.#openIn(REFUSED_MS);
    } else if (status === 401) this.#become({ kind: "signed-out" });
    else {
      // The server itself is away.
      if (this.#state.kind === "poll") this.#become({ kind: "lost" });
      this.#retry();
    }
  }
}

/** @returns 0 without a response */
async function statusOf(url: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(OPENING_MS);
    return (await fetch(url, { headers: { "countersign-background": "1" }, signal })).status;
  } catch {
    return 0;
  }
}
