/**
 * Keeps the connections to chats that this process owns. Another replica takes a connection over
 * when its owner stops.
 */

import type { Context } from "../context.ts";
import { answerChatEvent } from "../operations/chat/answerChatEvent.ts";
import {
  type ChatConnection,
  type ConnectableApp,
  type ConnectionKey,
  claimChatConnection,
  listConnectableApps,
  recordChatConnection,
  releaseChatConnection,
} from "../operations/chat/claimChatConnection.ts";
import { receiveChatPayload } from "../operations/chat/receiveChatRequest.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

/** A fraction of the time for which a process owns a connection. */
const INTERVAL_MS = 2_000;

/** Pause after the n-th failure in a row. */
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 30_000;

/** Ends that need no pause: the platform wants another connection. */
const PLANNED = ["refresh", "closed"];

interface Owned {
  readonly key: ConnectionKey;
  /** Changes with the secrets of the target. */
  readonly fingerprint: string;
  connection: ChatConnection | undefined;
  failures: number;
  /** Epoch ms of the next attempt. */
  retryAt: number;
}

export function startChatConnections(context: Context, report: Report): Worker {
  return new ChatConnections(context, report);
}

class ChatConnections implements Worker {
  readonly #context: Context;
  readonly #report: Report;
  readonly #owner: string;
  readonly #owned = new Map<string, Owned>();
  readonly #loop: TimerLoop;

  constructor(context: Context, report: Report) {
    this.#context = context;
    this.#report = report;
    this.#owner = context.random.uuid();
    this.#loop = new TimerLoop(context.clock, report, {
      name: "chat",
      intervalMs: INTERVAL_MS,
      firstDelayMs: 0,
      run: () => this.#run(),
    });
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all([...this.#owned.keys()].map((name) => this.#release(name)));
  }

  async #run(): Promise<undefined> {
    const apps = await listConnectableApps(this.#context);
    const wanted = new Map(apps.map((app) => [nameOf(app), app]));
    for (const [name, { fingerprint }] of this.#owned) {
      const app = wanted.get(name);
      if (app === undefined || fingerprintOf(app) !== fingerprint) await this.#release(name);
    }
    for (const [name, app] of wanted) await this.#keep(name, app);
    return undefined;
  }

  async #keep(name: string, app: ConnectableApp): Promise<void> {
    if (!(await claimChatConnection(this.#context, app, this.#owner))) {
      this.#close(name);
      return;
    }
    const known = this.#owned.get(name);
    const owned: Owned = known ?? {
      key: app,
      fingerprint: fingerprintOf(app),
      connection: undefined,
      failures: 0,
      retryAt: 0,
    };
    this.#owned.set(name, owned);
    const now = this.#context.clock.now();
    if (owned.connection === undefined && owned.retryAt <= now) this.#connect(owned, app);
  }

  #connect(owned: Owned, { channel, target }: ConnectableApp): void {
    const { notifier } = this.#context;
    const connection = notifier.connectChat(channel, target, {
      onPayload: (payload) => this.#answer(channel, payload),
      onConnected: () => {
        owned.failures = 0;
        this.#record(owned, "connected");
      },
    });
    owned.connection = connection;
    connection.closed.then((why) => {
      if (owned.connection !== connection) return;
      owned.connection = undefined;
      const isPlanned = PLANNED.includes(why);
      if (!isPlanned) owned.failures++;
      owned.retryAt = this.#context.clock.now() + (isPlanned ? 0 : pauseMs(owned.failures));
      this.#record(owned, isPlanned ? "connecting" : why);
      this.#loop.runAt(owned.retryAt);
    });
  }

  /** A failed event gets an empty answer, so that the platform does not send it again. */
  async #answer(channel: ConnectableApp["channel"], payload: unknown): Promise<object | undefined> {
    try {
      const event = await receiveChatPayload(this.#context, channel, payload);
      const { body, replied } = await answerChatEvent(this.#context, event);
      replied.catch((error: unknown) => this.#report.dependencyFailed("chat", error));
      return body;
    } catch (error) {
      this.#report.dependencyFailed("chat", error);
      return undefined;
    }
  }

  #record({ key }: Owned, state: string): void {
    recordChatConnection(this.#context, key, this.#owner, state).catch((error: unknown) =>
      this.#report.dependencyFailed("chat", error),
    );
  }

  #close(name: string): void {
    const owned = this.#owned.get(name);
    if (owned === undefined) return;
    this.#owned.delete(name);
    const { connection } = owned;
    owned.connection = undefined;
    connection?.close();
  }

  async #release(name: string): Promise<void> {
    const owned = this.#owned.get(name);
    this.#close(name);
    if (owned === undefined) return;
    await releaseChatConnection(this.#context, owned.key, this.#owner);
  }
}

function nameOf({ projectId, app }: ConnectionKey): string {
  return `${projectId} ${app}`;
}

/** Another channel of the app may open the connection, with the same secrets. */
function fingerprintOf({ target, channel }: ConnectableApp): string {
  return JSON.stringify([channel.id, target]);
}

function pauseMs(failures: number): number {
  return Math.min(PAUSE_MS_MIN * 2 ** (failures - 1), PAUSE_MS_MAX);
}
