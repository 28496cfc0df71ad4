/**
 * Reuses idle connections for a few seconds, so that a burst of notifications to one receiver needs
 * one handshake.
 */

import type { TLSSocket } from "node:tls";
import type { Clock } from "../clock.ts";

/**
 * Servers commonly close idle connections after 5 seconds. A message on a closed connection costs
 * time.
 */
const IDLE_MS_MAX = 4_000;
const PER_DESTINATION_MAX = 4;
const CONNECTIONS_MAX = 128;

interface Idle {
  readonly destination: string;
  readonly socket: TLSSocket;
  readonly cancelTimer: () => void;
}

export class IdleConnections {
  readonly #clock: Clock;
  readonly #perDestinationMax: number;
  /** By age, like those of each destination. */
  readonly #idle = new Set<Idle>();
  /** No entry is empty. */
  readonly #byDestination = new Map<string, Set<Idle>>();
  /** The state of every socket that was ever idle. */
  readonly #bySocket = new WeakMap<TLSSocket, { idle: Idle | undefined }>();

  /** @param perDestinationMax maximum messages in flight there; further connections are closed */
  constructor(clock: Clock, perDestinationMax = PER_DESTINATION_MAX) {
    this.#clock = clock;
    this.#perDestinationMax = perDestinationMax;
  }

  has(destination: string): boolean {
    return this.#byDestination.has(destination);
  }

  /** Takes the newest connection, because the server is least likely to close it soon. */
  take(destination: string): TLSSocket | undefined {
    let last: Idle | undefined;
    for (const idle of this.#byDestination.get(destination) ?? []) last = idle;
    if (last === undefined) return undefined;
    this.#remove(last);
    return last.socket;
  }

  /** Adds an idle connection. It is closed when it expires, exceeds the limit, or receives data. */
  keep(destination: string, socket: TLSSocket): void {
    if (socket.destroyed || !socket.writable) {
      socket.destroy();
      return;
    }
    const cancelTimer = this.#clock.after(IDLE_MS_MAX, () => this.#close(idle));
    const idle: Idle = { destination, socket, cancelTimer };
    this.#holderOf(socket).idle = idle;
    socket.unref();
    this.#add(idle);
  }

  /** Adds its listeners once for each socket, because a socket may become idle many times. */
  #holderOf(socket: TLSSocket): { idle: Idle | undefined } {
    const known = this.#bySocket.get(socket);
    if (known !== undefined) return known;
    const holder: { idle: Idle | undefined } = { idle: undefined };
    this.#bySocket.set(socket, holder);
    const close = () => {
      if (holder.idle !== undefined) this.#close(holder.idle);
    };
    // An unexpected response must not become the answer to the next message.
    for (const ending of ["data", "end", "close"] as const) socket.on(ending, close);
    return holder;
  }

  closeAll(): void {
    for (const idle of this.#idle) this.#close(idle);
  }

  #add(idle: Idle): void {
    const others = this.#byDestination.get(idle.destination) ?? new Set();
    this.#idle.add(idle);
    this.#byDestination.set(idle.destination, others.add(idle));
    const [oldest] = this.#idle;
    if (this.#idle.size > CONNECTIONS_MAX && oldest !== undefined) this.#close(oldest);
    const [first] = others;
    if (others.size > this.#perDestinationMax && first !== undefined) this.#close(first);
  }

  #close(idle: Idle): void {
    this.#remove(idle);
    idle.socket.destroy();
  }

  #remove(idle: Idle): void {
    if (!this.#idle.delete(idle)) return;
    const others = this.#byDestination.get(idle.destination);
    others?.delete(idle);
    if (others?.size === 0) this.#byDestination.delete(idle.destination);
    idle.cancelTimer();
    this.#holderOf(idle.socket).idle = undefined;
    idle.socket.ref();
  }
}
