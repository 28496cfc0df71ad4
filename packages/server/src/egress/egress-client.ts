/**
 * The outbound HTTP client with SSRF protection. It resolves the host for each message, checks
 * every address, and connects to the checked address over TLS with a certificate for the host. It
 * follows no redirect and ignores proxy variables of the environment. It limits every size and time
 * that the receiver controls.
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

export interface EgressClient {
  /**
   * Sends a message at most once, without retries.
   *
   * @throws only for defects, such as an invalid header
   */
  post(url: WebhookUrl, message: Message): Promise<Reply>;

  /**
   * Opens a connection that the caller owns and closes, with the checks of {@link post}.
   *
   * @throws never
   */
  connect(url: WebhookUrl, timeoutMs: number): Promise<TLSSocket | DialFailure | "dns">;

  /** Closes every connection. Requests in flight, and later ones, return `reset` or `busy`. */
  close(): void;
}

export interface EgressOptions extends DialOptions {
  readonly resolver: Resolver;
  /** The header `User-Agent`, unless the message has its own. */
  readonly userAgent?: string;
  /** Maximum messages in flight to one destination, and idle connections to it. */
  readonly perDestinationMax?: number;
  /** Replaces TLS connections, for simulations. */
  readonly dial?: Dial;
}

/** @throws TypeError for an invalid proxy URL */
export function createEgressClient(options: EgressOptions): EgressClient {
  return new GuardedEgressClient(options);
}

interface InFlightRequest {
  readonly url: WebhookUrl;
  readonly message: Message;
  readonly deadline: Deadline;
  /** May be called before the request is over. Only the first call counts. */
  readonly answer: (reply: Reply) => void;
}

interface Connection {
  readonly socket: TLSSocket;
  readonly isReused: boolean;
}

/** If the first address fails before TLS is established, the second one has the remaining time. */
export const ADDRESSES_TRIED_MAX = 2;

const USER_AGENT = "countersign";

class GuardedEgressClient implements EgressClient {
  readonly #options: EgressOptions;
  readonly #dial: Dial;
  readonly #idle: IdleConnections;
  /** Deadlines of requests in flight. */
  readonly #deadlines = new Set<Deadline>();
  #isClosed = false;

  constructor(options: EgressOptions) {
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

  async connect(url: WebhookUrl, timeoutMs: number): Promise<TLSSocket | DialFailure | "dns"> {
    const deadline = new Deadline(this.#options.clock, timeoutMs, undefined);
    this.#deadlines.add(deadline);
    if (this.#isClosed) deadline.cut();
    try {
      const addresses = await this.#resolve({ url, deadline });
      const [address] = addresses ?? [];
      if (addresses === undefined || address === undefined) return "dns";
      if (!addresses.every((each) => this.#isAllowed(url, each))) return "refused";
      return await this.#dial(url, address, timeoutMs, deadline.signal);
    } catch (error) {
      if (deadline.isOver) return "connect";
      throw error;
    } finally {
      deadline.disarm();
      this.#deadlines.delete(deadline);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const deadline of this.#deadlines) deadline.cut();
    this.#idle.closeAll();
  }

  /** Resolves when the request is over and its slot at the address is released. */
  async #run(request: InFlightRequest): Promise<Reply> {
    const { url, deadline } = request;
    const addresses = await this.#resolve(request);
    if (addresses === undefined) return unreachable("dns");
    if (!addresses.every((address) => this.#isAllowed(url, address))) return { kind: "refused" };
    const chosen = this.#choose(request, addresses);
    let reply = unreachable("dns");
    for (const address of chosen) {
      const release = await acquireSlot(request, address);
      if (release === undefined) return { kind: "busy" };
      try {
        if (!(await isWanted(request))) return { kind: "busy" };
        const isLast = address === chosen.at(-1);
        const connection = await this.#connect(request, address, isLast);
        if (typeof connection !== "string") {
          return await this.#exchange(request, address, connection);
        }
        deadline.signal.throwIfAborted();
        if (connection === "refused") return { kind: "refused" };
        reply = unreachable(connection);
      } finally {
        release();
      }
    }
    return reply;
  }

  /** @returns undefined when a DNS answer is missing */
  async #resolve({
    url,
    deadline,
  }: Pick<InFlightRequest, "url" | "deadline">): Promise<readonly string[] | undefined> {
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

  /** The proxy resolves and checks names. This client still checks IP literals. */
  #isForProxy(url: WebhookUrl): boolean {
    return this.#options.proxyUrl !== undefined && !url.isAddress;
  }

  /** Prefers an address with an idle connection, then one of each family. */
  #choose({ url, message }: InFlightRequest, addresses: readonly string[]): readonly string[] {
    if (addresses.length === 1) return addresses;
    const isOpen = (address: string) => this.#idle.has(destinationOf(url, address));
    const open = message.freshConnection ? undefined : addresses.find(isOpen);
    const ipv4 = addresses.find((address) => !address.includes(":"));
    const ipv6 = addresses.find((address) => address.includes(":"));
    const order = [open, ipv4, ipv6, ...addresses].filter((address) => address !== undefined);
    return [...new Set(order)].slice(0, ADDRESSES_TRIED_MAX);
  }

  /** @param isLast false: reserves half of the time for another address */
  async #connect(
    { url, message, deadline }: InFlightRequest,
    address: string,
    isLast: boolean,
  ): Promise<Connection | DialFailure> {
    const idle = message.freshConnection ? undefined : this.#idle.take(destinationOf(url, address));
    if (idle !== undefined) return { socket: idle, isReused: true };
    const timeoutMs = isLast ? message.timeoutMs : message.timeoutMs / 2;
    const dialled = await this.#dial(url, address, timeoutMs, deadline.signal);
    return typeof dialled === "string" ? dialled : { socket: dialled, isReused: false };
  }

  async #exchange(
    request: InFlightRequest,
    address: string,
    connection: Connection,
  ): Promise<Reply> {
    const { url, message, deadline, answer } = request;
    const { clock, userAgent = USER_AGENT } = this.#options;
    try {
      if (!connection.isReused && !(await isWanted(request))) {
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

/** A connection is reused for the same name only, even if other names have its address. */
function destinationOf({ host, port, isAddress }: WebhookUrl, address: string): string {
  return `${address} ${port} ${isAddress ? "" : host}`;
}

/** @throws the signal's reason after the deadline */
async function isWanted({ message, deadline }: InFlightRequest): Promise<boolean> {
  deadline.check();
  deadline.signal.throwIfAborted();
  const answer = message.isWanted?.(deadline.leftMs) ?? true;
  if (typeof answer === "boolean") return answer;
  const orFalse = answer.catch(() => false);
  return deadline.until(orFalse);
}

/** @returns undefined when no slot was free in time; a later slot is released immediately */
async function acquireSlot(
  { message: { admit }, deadline }: InFlightRequest,
  address: string,
): Promise<(() => void) | undefined> {
  if (admit === undefined) return () => undefined;
  const slot = admit(address, deadline.signal);
  if (!(slot instanceof Promise)) return slot;
  try {
    return await deadline.until(slot);
  } catch (error) {
    if (!deadline.isOver) throw error;
    slot.then(
      (release) => release?.(),
      () => undefined,
    );
    return undefined;
  }
}
