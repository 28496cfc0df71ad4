/**
 * Wakes waiting exchanges across the processes that share a database: it sends this process's
 * signals to the others, and their messages wake the exchanges that wait here.
 *
 * It collects hints while a message is sent and for a few milliseconds after it, so the number of
 * messages does not grow with that of decisions. A lost message delays waiting exchanges by up to a
 * second, their own polling interval.
 */

import type { Clock, Random } from "../clock.ts";
import type { ReplicaBus, ReplicaBusListener } from "../storage/replica-bus.ts";
import { ALL_HINTS, readMessage, toHint, toMessage, type WakeHint } from "./hints.ts";
import type { LocalWake } from "./local-wake.ts";
import type { Signal, Wake } from "./wake.ts";

/** Pause between two messages, because every replica reads each of them. */
const GAP_MS = 5;

export interface SharedWakeParts {
  readonly local: LocalWake;
  readonly bus: ReplicaBus;
  readonly random: Random;
  /** The system clock, because tests stop the provider's. */
  readonly clock: Pick<Clock, "after">;
}

export interface SharedWakeListener extends Pick<ReplicaBusListener, "onListening" | "onLost"> {
  /** Other replicas resolved these requests, which have long polls here; `all`: unknown. */
  onResolvedElsewhere(requestIds: readonly string[] | "all"): void;
}

export class SharedWake implements Wake {
  readonly #local: LocalWake;
  readonly #bus: ReplicaBus;
  readonly #clock: Pick<Clock, "after">;
  readonly #id: string;
  /** Hints to send. */
  readonly #hints = new Set<string>();
  /** Projects of its hints about opened requests. */
  readonly #openedIn = new Set<string>();
  /** Length of the next message. */
  #bytes: number;
  /** True when the hints do not fit into a message. */
  #isEverything = false;
  #sending: Promise<void> | undefined;
  isListening = false;
  /** Sent messages since the start. */
  sent = 0;
  /** Received messages of other replicas since the start. */
  received = 0;

  constructor({ local, bus, random, clock }: SharedWakeParts) {
    this.#local = local;
    this.#bus = bus;
    this.#clock = clock;
    this.#id = random.uuid();
    this.#bytes = toMessage(this.#id, []).length;
  }

  /** Starts to send and receive. */
  open({ onListening, onLost, onResolvedElsewhere }: SharedWakeListener): void {
    this.#bus.open({
      onMessage: (message) => this.#receive(message, onResolvedElsewhere),
      onListening: () => {
        this.isListening = true;
        onListening();
        // Messages may have been lost.
        onResolvedElsewhere("all");
      },
      onLost: (error) => {
        this.isListening = false;
        onLost(error);
      },
    });
  }

  signal(signal: Signal): void {
    this.#local.signal(signal);
    const hint = toHint(signal);
    if (hint === undefined) return;
    if (signal.kind === "opened" && !this.#isFirst(signal.projectId)) return;
    this.#gather(hint);
    this.#sending ??= this.#send();
  }

  onResolved(requestId: string, projectId: string, callback: () => void): () => void {
    return this.#local.onResolved(requestId, projectId, callback);
  }

  onSignal(callback: (signal: Signal) => void): () => void {
    return this.#local.onSignal(callback);
  }

  releaseAll(): void {
    this.#local.releaseAll();
  }

  resolvedElsewhere(requestId: string): void {
    this.#local.resolvedElsewhere(requestId);
  }

  get waiting(): number {
    return this.#local.waiting;
  }

  awaited(): string[] {
    return this.#local.awaited();
  }

  projectOf(requestId: string): string | undefined {
    return this.#local.projectOf(requestId);
  }

  /** Sends the remaining hints, then stops. */
  async close(): Promise<void> {
    await this.#sending;
    await this.#bus.close();
    this.isListening = false;
  }

  /** One opened request per project and message is sufficient: the receiver rereads the project. */
  #isFirst(projectId: string): boolean {
    if (this.#openedIn.has(projectId)) return false;
    this.#openedIn.add(projectId);
    return true;
  }

  #gather(hint: string): void {
    if (this.#isEverything || this.#hints.has(hint)) return;
    this.#hints.add(hint);
    // Includes the space before it. Hints are ASCII.
    this.#bytes += hint.length + 1;
    if (this.#bytes <= this.#bus.messageBytesMax) return;
    this.#isEverything = true;
    this.#hints.clear();
  }

  async #send(): Promise<void> {
    // Collects the signals of one event loop iteration in one message.
    await this.#sleep(0);
    while (this.#isEverything || this.#hints.size > 0) {
      if (await this.#bus.send(this.#take())) this.sent++;
      await this.#sleep(GAP_MS);
    }
    this.#sending = undefined;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }

  #take(): string {
    const message = toMessage(this.#id, this.#isEverything ? [ALL_HINTS] : this.#hints);
    this.#isEverything = false;
    this.#hints.clear();
    this.#openedIn.clear();
    this.#bytes = toMessage(this.#id, []).length;
    return message;
  }

  #receive(message: string, onResolvedElsewhere: SharedWakeListener["onResolvedElsewhere"]): void {
    const received = readMessage(message);
    if (received === undefined || received.sender === this.#id) return;
    this.received++;
    if (received.hints === "everything") onResolvedElsewhere("all");
    else this.#follow(received.hints, onResolvedElsewhere);
  }

  #follow(
    hints: readonly WakeHint[],
    onResolvedElsewhere: SharedWakeListener["onResolvedElsewhere"],
  ): void {
    const requestIds: string[] = [];
    for (const hint of hints) {
      if (hint.kind !== "resolved") {
        this.#local.signal(hint);
        continue;
      }
      this.#local.signal({ kind: "ended", requestId: hint.requestId });
      if (this.#local.projectOf(hint.requestId) !== undefined) requestIds.push(hint.requestId);
    }
    if (requestIds.length > 0) onResolvedElsewhere(requestIds);
  }
}
