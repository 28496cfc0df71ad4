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
  /** The stream is open. `resumed`: what has been shown, with what follows, is right. */
  | { readonly kind: "open"; readonly resumed: boolean }
  | { readonly kind: "event"; readonly name: string; readonly data: string }
  /** Nothing is heard; what is shown may be old. */
  | { readonly kind: "lost" }
  /** No stream to be had: everybody asks by themselves. */
  | { readonly kind: "ask" }
  | { readonly kind: "signed-out" };

/** The stream says something every 10 s; a little more than that without a word is a break. */
const SILENCE_MS = 13_000;
const OPENING_MS = 8_000;
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 3_000;
/** How often a stream is tried again that the server does not give. */
const REFUSED_MS = 15_000;
const ASK_EVERY_MS = 2_000;

const EVENTS = [
  ...["request.opened", "request.changed", "request.resolved"],
  ...["freezes", "heartbeat", "reset"],
];

export interface Feed {
  /** What a listener who comes now has to know. */
  state(): FeedMessage;
  close(): void;
}

/**
 * @param root the address of the server, with a slash at its end
 * @param tell hears everything, and gets `open` before the first event
 */
export function startFeed(root: string, tell: (message: FeedMessage) => void): Feed {
  let source: EventSource | undefined;
  let lastId = "";
  let state: FeedMessage = { kind: "opening" };
  let retryMs = RETRY_MS_MIN;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let next: ReturnType<typeof setTimeout> | undefined;
  let asking: ReturnType<typeof setInterval> | undefined;

  function say(message: FeedMessage): void {
    if (message.kind !== "event") state = message;
    tell(message);
  }

  function expectWord(withinMs: number): void {
    clearTimeout(silence);
    silence = setTimeout(lose, withinMs);
  }

  function open(): void {
    close();
    const resume = lastId === "" ? "" : `?last_event_id=${encodeURIComponent(lastId)}`;
    source = new EventSource(`${root}review/v1/events${resume}`);
    expectWord(OPENING_MS);
    source.addEventListener("ready", (event) => {
      lastId = event.lastEventId || lastId;
      retryMs = RETRY_MS_MIN;
      clearInterval(asking);
      expectWord(SILENCE_MS);
      const { resumed } = JSON.parse(event.data) as { readonly resumed: boolean };
      say({ kind: "open", resumed });
      tell({ kind: "event", name: "ready", data: event.data });
    });
    for (const name of EVENTS) {
      source.addEventListener(name, (event) => {
        lastId = event.lastEventId || lastId;
        expectWord(SILENCE_MS);
        tell({ kind: "event", name, data: event.data });
      });
    }
    source.addEventListener("end", lose);
    source.onerror = lose;
  }

  function close(): void {
    clearTimeout(silence);
    clearTimeout(next);
    source?.close();
    source = undefined;
  }

  function lose(): void {
    const wasOpen = state.kind === "open";
    close();
    if (state.kind !== "ask") say({ kind: "lost" });
    if (wasOpen) retry();
    else void findOut();
  }

  function retry(): void {
    clearTimeout(next);
    next = setTimeout(open, retryMs);
    retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
  }

  /** A stream that never opened does not say why. */
  async function findOut(): Promise<void> {
    const status = await statusOf(`${root}review/v1/session`);
    if (status === 401) say({ kind: "signed-out" });
    else if (status !== 200) {
      // The server itself is away: nobody else has to ask.
      if (state.kind === "ask") say({ kind: "lost" });
      clearInterval(asking);
      retry();
    } else askInstead();
  }

  function askInstead(): void {
    clearInterval(asking);
    say({ kind: "ask" });
    asking = setInterval(() => tell({ kind: "ask" }), ASK_EVERY_MS);
    clearTimeout(next);
    next = setTimeout(open, REFUSED_MS);
  }

  addEventListener("offline", lose);
  addEventListener("online", () => {
    if (state.kind !== "open") open();
  });
  open();
  return {
    state: () => state,
    close() {
      close();
      clearInterval(asking);
    },
  };
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
