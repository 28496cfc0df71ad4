/**
 * How a tab hears the one stream of its browser: from a shared worker; where there is none, from
 * the tab that leads, which is the one that holds a lock; where there is neither, by asking.
 *
 * Called by: live.ts.
 */

import { urlOf } from "../root.ts";
import { trustedScriptUrl } from "../trusted-url.ts";
import { Feed } from "./feed.ts";
import workerUrl from "./feed-worker.ts?worker&url";
import { type HeardMessage, heardNow } from "./heard.ts";

export type Hear = (heard: HeardMessage) => void;

/** The tab that leads says that the stream is silent; when it does not, it is gone itself. */
const LEADER_LATE_MS = 200;
const ASK_EVERY_MS = 2_000;
/** Of a tab that leads and has no stream: it says every 2 s that everybody asks. */
const ASK_SILENCE_MS = 3_400;

/**
 * The first message says how things stand.
 *
 * @param name of the session and project: another one has another stream
 * @returns leaves
 */
export function joinFeed(name: string, hear: Hear): () => void {
  if (typeof SharedWorker === "function") {
    try {
      return joinWorker(name, hear);
    } catch (error) {
      console.warn(error);
    }
  }
  return joinWithout(name, hear);
}

function joinWithout(name: string, hear: Hear): () => void {
  const canLead = navigator.locks !== undefined && typeof BroadcastChannel === "function";
  return canLead ? joinTabs(name, hear) : askAlone(hear);
}

function joinWorker(name: string, hear: Hear): () => void {
  const url = new URL(workerUrl as string, import.meta.url).href;
  const worker = new SharedWorker(trustedScriptUrl(url), { name, type: "module" });
  let leaveOther: (() => void) | undefined;
  worker.port.onmessage = ({ data }: MessageEvent<HeardMessage>) => hear(data);
  // A worker whose script did not load: without it, as where there are none.
  worker.onerror = () => {
    leaveOther ??= joinWithout(name, hear);
  };
  return () => {
    worker.port.postMessage("leave");
    worker.port.close();
    leaveOther?.();
  };
}

const HELLO = "hello";

function joinTabs(name: string, hear: Hear): () => void {
  const channel = new BroadcastChannel(`countersign-feed/${name}`);
  const stop = new AbortController();
  let silence: ReturnType<typeof setTimeout> | undefined;
  let silenceMs: number | undefined;
  let answer: (() => HeardMessage) | undefined;

  function listen(heard: HeardMessage): void {
    clearTimeout(silence);
    const { message } = heard;
    if (message.kind === "open") silenceMs = message.silenceMs;
    else if (message.kind !== "event") silenceMs = undefined;
    if (message.kind === "ask") silence = setTimeout(miss, ASK_SILENCE_MS);
    if (silenceMs !== undefined) silence = setTimeout(miss, silenceMs + LEADER_LATE_MS);
    hear(heard);
  }

  /** The tab that leads is asleep, or has gone. */
  function miss(): void {
    hear(heardNow({ kind: "lost" }));
    channel.postMessage(HELLO);
  }

  function lead(): Promise<void> {
    clearTimeout(silence);
    const feed = new Feed(urlOf(""), (message) => {
      hear(heardNow(message));
      channel.postMessage(heardNow(message));
    });
    answer = () => heardNow(feed.state);
    return new Promise((resolve) => {
      stop.signal.addEventListener("abort", () => {
        feed.close();
        resolve();
      });
    });
  }

  channel.onmessage = ({ data }: MessageEvent<HeardMessage | typeof HELLO>) => {
    if (data !== HELLO) listen(data);
    else if (answer !== undefined) channel.postMessage(answer());
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

function askAlone(hear: Hear): () => void {
  const ask = () => hear(heardNow({ kind: "ask" }));
  ask();
  const timer = setInterval(ask, ASK_EVERY_MS);
  return () => clearInterval(timer);
}
