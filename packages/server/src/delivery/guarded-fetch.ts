/**
 * The guarded door: the only way out of this process. A message goes to addresses that were
 * looked up and judged for it alone, over TLS that proves the host's name, and nowhere else: no
 * redirect is followed, no proxy is taken from the environment. Everything that the receiver
 * decides is bounded.
 *
 * Called by: verifyReceiver and the delivery of notifications.
 *
 * @see contract: Resources, WebhookURL rules, 2 and 3
 */

import type { TLSSocket } from "node:tls";
import type { WebhookUrl } from "@countersign/protocol";
import { mayConnect } from "../core/address.ts";
import { Deadline } from "./deadline.ts";
import { exchange } from "./http-exchange.ts";
import { IdleConnections } from "./idle-connections.ts";
import { type Message, type Reply, unreachable } from "./message.ts";
import { createDial, type Dial, type DialFailure, type DialOptions } from "./pinned-connection.ts";
import type { Resolver } from "./resolve-host.ts";

export type { Message, Reply, UnreachableReason } from "./message.ts";

export interface Door {
  /**
   * Sends a message, at most once; never again by itself.
   *
   * @throws only for defects, such as a header that cannot be written
   */
  post(url: WebhookUrl, message: Message): Promise<Reply>;

  /** Cuts every connection. What is under way ends as `reset` or `busy`, like what comes later. */
  close(): void;
}

export interface DoorOptions extends DialOptions {
  readonly resolver: Resolver;
  /** The header `User-Agent`, unless the message has its own. */
  readonly userAgent?: string;
  /** How many messages may be in flight to one destination: so many connections are kept. */
  readonly perDestinationMax?: number;
  /** In place of TLS connections, for simulations. */
  readonly dial?: Dial;
}

/** @throws TypeError when the proxy's URL is none */
export function createDoor(options: DoorOptions): Door {
  return new GuardedDoor(options);
}

/** A message on its way. */
interface Errand {
  readonly url: WebhookUrl;
  readonly message: Message;
  readonly deadline: Deadline;
  /** May be called before the errand is over; only the first call counts. */
  readonly answer: (reply: Reply) => void;
}

interface Connection {
  readonly socket: TLSSocket;
  readonly isReused: boolean;
}

/** The second one is tried, in the same time, when the first fails before TLS is up. */
export const ADDRESSES_TRIED_MAX = 2;

const USER_AGENT = "countersign";

class GuardedDoor implements Door {
  readonly #options: DoorOptions;
  readonly #dial: Dial;
  readonly #idle: IdleConnections;
  /** Of the errands that are not over. */
  readonly #deadlines = new Set<Deadline>();
  #isClosed = false;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#dial = options.dial ?? createDial(options);
    this.#idle = new IdleConnections(options.clock, options.perDestinationMax);
  }

  post(url: WebhookUrl, message: Message): Promise<Reply> {
    const deadline = new Deadline(this.#options.clock, message.timeoutMs, message.endsBy);
    this.#deadlines.add(deadline);
    if (this.#isClosed) deadline.cut();
    return new Promise((answer, reject) => {
      this.#run({ url, message, deadline, answer })
        .then(answer, (error: unknown) => {
          if (deadline.isOver) answer(unreachable(deadline.reason));
          else reject(error);
        })
        .finally(() => {
          deadline.disarm();
          this.#deadlines.delete(deadline);
        });
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const deadline of this.#deadlines) deadline.cut();
    this.#idle.closeAll();
  }

  /** Resolves when the errand is over: nothing is under way any more and its place is left. */
  async #run(errand: Errand): Promise<Reply> {
    const { url, deadline } = errand;
    const addresses = await this.#lookUp(errand);
    if (addresses === undefined) return unreachable("dns");
    if (!addresses.every((address) => this.#isAllowed(url, address))) return { kind: "refused" };
    const chosen = this.#choose(errand, addresses);
    let reply = unreachable("dns");
    for (const address of chosen) {
      const leave = await enter(errand, address);
      if (leave === undefined) return { kind: "busy" };
      try {
        if (!(await isWanted(errand))) return { kind: "busy" };
        const isLast = address === chosen.at(-1);
        const connection = await this.#connect(errand, address, isLast);
        if (typeof connection !== "string") {
          return await this.#exchange(errand, address, connection);
        }
        deadline.signal.throwIfAborted();
        if (connection === "refused") return { kind: "refused" };
        reply = unreachable(connection);
      } finally {
        leave();
      }
    }
    return reply;
  }

  /** @returns undefined when an answer is missing */
  async #lookUp({ url, deadline }: Errand): Promise<readonly string[] | undefined> {
    deadline.signal.throwIfAborted();
    if (url.isAddress || this.#isForProxy(url)) return [url.host];
    const { resolver } = this.#options;
    try {
      return await deadline.until(resolver.resolve(url.host, deadline.signal));
    } catch {
      deadline.signal.throwIfAborted();
      return undefined;
    }
  }

  #isAllowed(url: WebhookUrl, address: string): boolean {
    return this.#isForProxy(url) || mayConnect(this.#options.rules, address);
  }

  /** Names are the proxy's to look up and to judge; literals are still judged here. */
  #isForProxy(url: WebhookUrl): boolean {
    return this.#options.proxyUrl !== undefined && !url.isAddress;
  }

  /** One with an open connection first, then one of each family, as this network may lack one. */
  #choose({ url, message }: Errand, addresses: readonly string[]): readonly string[] {
    if (addresses.length === 1) return addresses;
    const isOpen = (address: string) => this.#idle.has(destinationOf(url, address));
    const open = message.freshConnection ? undefined : addresses.find(isOpen);
    const ipv4 = addresses.find((address) => !address.includes(":"));
    const ipv6 = addresses.find((address) => address.includes(":"));
    const order = [open, ipv4, ipv6, ...addresses].filter((address) => address !== undefined);
    return [...new Set(order)].slice(0, ADDRESSES_TRIED_MAX);
  }

  /** @param isLast false: half of the time is kept for another address */
  async #connect(
    { url, message, deadline }: Errand,
    address: string,
    isLast: boolean,
  ): Promise<Connection | DialFailure> {
    const idle = message.freshConnection ? undefined : this.#idle.take(destinationOf(url, address));
    if (idle !== undefined) return { socket: idle, isReused: true };
    const timeoutMs = isLast ? message.timeoutMs : message.timeoutMs / 2;
    const dialled = await this.#dial(url, address, timeoutMs, deadline.signal);
    return typeof dialled === "string" ? dialled : { socket: dialled, isReused: false };
  }

  async #exchange(errand: Errand, address: string, connection: Connection): Promise<Reply> {
    const { url, message, deadline, answer } = errand;
    const { clock, userAgent = USER_AGENT } = this.#options;
    try {
      if (!connection.isReused && !(await isWanted(errand))) {
        connection.socket.destroy();
        return { kind: "busy" };
      }
      const { reply, over } = exchange(url, message, { ...connection, userAgent, clock, deadline });
      reply.then(answer);
      const isReusable = await over;
      if (isReusable && !this.#isClosed)
        this.#idle.keep(destinationOf(url, address), connection.socket);
      else connection.socket.destroy();
      return await reply;
    } catch (error) {
      connection.socket.destroy();
      throw error;
    }
  }
}

/** A connection carries messages for one name only, whoever else lives at its address. */
function destinationOf({ host, port, isAddress }: WebhookUrl, address: string): string {
  return `${address} ${port} ${isAddress ? "" : host}`;
}

/** Throws when the message's time is over. */
async function isWanted({ message, deadline }: Errand): Promise<boolean> {
  deadline.check();
  deadline.signal.throwIfAborted();
  const answer = message.isWanted?.(deadline.leftMs) ?? true;
  if (typeof answer === "boolean") return answer;
  const asked = answer.catch(() => false);
  return deadline.until(asked);
}

/** @returns undefined when there was no place in time; one that comes later is left at once */
async function enter(
  { message: { admit }, deadline }: Errand,
  address: string,
): Promise<(() => void) | undefined> {
  if (admit === undefined) return () => undefined;
  const place = admit(address, deadline.signal);
  if (!(place instanceof Promise)) return place;
  try {
    return await deadline.until(place);
  } catch (error) {
    if (!deadline.isOver) throw error;
    place.then(
      (leave) => leave?.(),
      () => undefined,
    );
    return undefined;
  }
}
