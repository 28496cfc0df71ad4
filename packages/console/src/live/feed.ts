/**
 * One event stream with the server, kept open: `GET /review/v1/events`. Runs once per browser, in
 * a shared worker or in the tab that leads; all tabs hear what it says.
 *
 * Called by: feed-worker.ts, connect.ts. Promises: what it says in order is what the server said
 * in order; after a break it resumes, or says that nothing can be relied on any more.
 */

export type FeedMessage =
  /** It has only begun. */
  | { readonly kind: "opening" }
  /**
   * The stream is open. `resumed`: what has been shown, with what follows, is right. After
   * `silenceMs` without a word it is not there any more.
   */
  | { readonly kind: "open"; readonly resumed: boolean; readonly silenceMs: number }
  | { readonly kind: "event"; readonly name: string; readonly data: string }
  /** Nothing is heard; what is shown may be old. */
  | { readonly kind: "lost" }
  /** No stream to be had: everybody asks by themselves. */
  | { readonly kind: "ask" }
  | { readonly kind: "signed-out" };

/**
 * With so many pulses of the server missed, and a little more, the connection is broken; a page
 * says so when it has not come back within the grace of live.ts, and that is within 5 s.
 */
const PULSES_MISSED = 2;
const PULSE_LATE_MS = 200;
/** Of a server that has no pulse and says something every 10 s. */
const SILENCE_MS = 13_000;
const OPENING_MS = 8_000;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 3_000;
/** How often a stream is tried again that the server does not give. */
const REFUSED_MS = 15_000;
const ASK_EVERY_MS = 2_000;

const EVENTS = [
  "request.opened",
  "request.changed",
  "request.resolved",
  "freezes",
  "heartbeat",
  "pulse",
  "reset",
];

interface ReadyData {
  readonly resumed: boolean;
  readonly pulse_ms?: number;
}

export class Feed {
  readonly #root: string;
  readonly #tell: (message: FeedMessage) => void;
  #source: EventSource | undefined;
  #lastId = "";
  #state: FeedMessage = { kind: "opening" };
  #retryMs = RETRY_MS_MIN;
  #silenceMs = SILENCE_MS;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #next: ReturnType<typeof setTimeout> | undefined;
  #asking: ReturnType<typeof setInterval> | undefined;
  readonly #onOffline = () => this.#lose();
  readonly #onOnline = () => {
    if (this.#state.kind !== "open") this.#open();
  };

  /**
   * Opens the stream.
   *
   * @param root the address of the server, with a slash at its end
   * @param tell hears everything, and gets `open` before the first event
   */
  constructor(root: string, tell: (message: FeedMessage) => void) {
    this.#root = root;
    this.#tell = tell;
    addEventListener("offline", this.#onOffline);
    addEventListener("online", this.#onOnline);
    this.#open();
  }

  /** What a listener who comes now has to know. */
  get state(): FeedMessage {
    return this.#state;
  }

  close(): void {
    removeEventListener("offline", this.#onOffline);
    removeEventListener("online", this.#onOnline);
    this.#hangUp();
    clearInterval(this.#asking);
  }

  #say(message: FeedMessage): void {
    this.#state = message;
    this.#tell(message);
  }

  #expectWord(withinMs: number): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#lose(), withinMs);
  }

  #open(): void {
    this.#hangUp();
    const resume = this.#lastId === "" ? "" : `?last_event_id=${encodeURIComponent(this.#lastId)}`;
    const source = new EventSource(`${this.#root}review/v1/events${resume}`);
    this.#source = source;
    this.#expectWord(OPENING_MS);
    source.addEventListener("ready", (event) => {
      this.#retryMs = RETRY_MS_MIN;
      clearInterval(this.#asking);
      const { resumed, pulse_ms: pulseMs } = JSON.parse(event.data) as ReadyData;
      this.#silenceMs =
        pulseMs === undefined ? SILENCE_MS : PULSES_MISSED * pulseMs + PULSE_LATE_MS;
      this.#say({ kind: "open", resumed, silenceMs: this.#silenceMs });
      this.#pass(event);
    });
    for (const name of EVENTS) source.addEventListener(name, (event) => this.#pass(event));
    source.addEventListener("end", (event) => {
      this.#pass(event);
      this.#lose();
    });
    source.onerror = () => this.#lose();
  }

  #pass({ type, data, lastEventId }: MessageEvent<string>): void {
    this.#lastId = lastEventId || this.#lastId;
    this.#expectWord(this.#silenceMs);
    this.#tell({ kind: "event", name: type, data });
  }

  #hangUp(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#next);
    this.#source?.close();
    this.#source = undefined;
  }

  #lose(): void {
    const wasOpen = this.#state.kind === "open";
    this.#hangUp();
    if (this.#state.kind !== "ask") this.#say({ kind: "lost" });
    if (wasOpen) this.#retry();
    else void this.#findOut();
  }

  #retry(): void {
    this.#openIn(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }

  #openIn(ms: number): void {
    clearTimeout(this.#next);
    this.#next = setTimeout(() => this.#open(), ms);
  }

  /** A stream that never opened does not say why. */
  async #findOut(): Promise<void> {
    const status = await statusOf(`${this.#root}review/v1/session`);
    if (status === 200) this.#askInstead();
    else if (status === 401) {
      clearInterval(this.#asking);
      this.#say({ kind: "signed-out" });
    } else {
      // The server itself is away: asking is of no use.
      clearInterval(this.#asking);
      if (this.#state.kind === "ask") this.#say({ kind: "lost" });
      this.#retry();
    }
  }

  #askInstead(): void {
    clearInterval(this.#asking);
    this.#say({ kind: "ask" });
    this.#asking = setInterval(() => this.#tell({ kind: "ask" }), ASK_EVERY_MS);
    this.#openIn(REFUSED_MS);
  }
}

/** @returns 0 where nothing answers */
async function statusOf(url: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(OPENING_MS);
    return (await fetch(url, { headers: { "countersign-background": "1" }, signal })).status;
  } catch {
    return 0;
  }
}
