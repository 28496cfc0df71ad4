/**
 * Connects a tab to the one stream of its browser: through a shared worker; without one, through
 * the tab that holds a lock; where neither is supported, the tab polls.
 */

import { urlOf } from "../root.ts";
import { trustedScriptUrl } from "../trusted-url.ts";
import { Feed, type FeedMessage, projectOfFeed } from "./feed.ts";
import workerUrl from "./feed-worker.ts?worker&url";

export type Receive = (message: FeedMessage) => void;

/** The leading tab reports a silent stream; when it does not report, it is gone itself. */
const LEADER_LATE_MS = 200;
const POLL_MS = 2_000;
/** A leading tab without a stream sends `poll` every 2 s. */
const POLL_SILENCE_MS = 3_400;

/**
 * The first message is the state of the stream.
 *
 * @param name as feedName makes it
 * @returns leaves
 */
export function joinFeed(name: string, receive: Receive): () => void {
  if (typeof SharedWorker === "function") {
    try {
      return joinWorker(name, receive);
    } catch (error) {
      console.warn(error);
    }
  }
  return joinWithout(name, receive);
}

function joinWithout(name: string, receive: Receive): () => void {
  const canLead = navigator.locks !== undefined && typeof BroadcastChannel === "function";
  return canLead ? joinTabs(name, receive) : pollAlone(receive);
}

function joinWorker(name: string, receive: Receive): () => void {
  const url = new URL(workerUrl as string, import.meta.url).href;
  const worker = new SharedWorker(trustedScriptUrl(url), { name, type: "module" });
  let leaveOther: (() => void) | undefined;
  worker.port.onmessage = ({ data }: MessageEvent<FeedMessage>) => receive(data);
  // The script of the worker did not load.
  worker.onerror = () => {
    leaveOther ??= joinWithout(name, receive);
  };
  return () => {
    worker.port.postMessage("leave");
    worker.port.close();
    leaveOther?.();
  };
}

const HELLO = "hello";

function joinTabs(name: string, receive: Receive): () => void {
  const channel = new BroadcastChannel(`countersign-feed/${name}`);
  const stop = new AbortController();
  let silence: ReturnType<typeof setTimeout> | undefined;
  let silenceMs: number | undefined;
  let state: (() => FeedMessage) | undefined;

  function pass(message: FeedMessage): void {
    clearTimeout(silence);
    if (message.kind === "open") silenceMs = message.silenceMs;
    else if (message.kind !== "event") silenceMs = undefined;
    if (message.kind === "poll") silence = setTimeout(miss, POLL_SILENCE_MS);
    if (silenceMs !== undefined) silence = setTimeout(miss, silenceMs + LEADER_LATE_MS);
    receive(message);
  }

  /** The leading tab is suspended or closed. */
  function miss(): void {
    receive({ kind: "lost" });
    channel.postMessage(HELLO);
  }

  function lead(): Promise<void> {
    clearTimeout(silence);
    const feed = new Feed(urlOf(""), projectOfFeed(name), (message) => {
      receive(message);
      channel.postMessage(message);
    });
    state = () => feed.state;
    return new Promise((resolve) => {
      stop.signal.addEventListener("abort", () => {
        feed.close();
        resolve();
      });
    });
  }

  channel.onmessage = ({ data }: MessageEvent<FeedMessage | typeof HELLO>) => {
    if (data !== HELLO) pass(data);
    else if (state !== undefined) channel.postMessage(state());
  };
  channel.postMessage(HELLO);
  const waiting = navigator.locks.request(
    `countersign-feed/${name}`,
    { signal: stop.signal },
    lead,
  );
  waiting.catch((error: Error) => error.name !== "AbortError" && console.error(error));
  return () => {
    stop.abort();
    clearTimeout(silence);
    channel.close();
  };
}

function pollAlone(receive: Receive): () => void {
  const poll = () => receive({ kind: "poll" });
  poll();
  const timer = setInterval(poll, POLL_MS);
  return () => clearInterval(timer);
}
