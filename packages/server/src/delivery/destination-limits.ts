/**
 * Limits messages in flight and their rate: in this process, for one provisioning account, one host
 * and one address, over all instances. Each process counts in memory, for itself.
 *
 * @see contract: Limits, Other rules, 1; Events, webhook.verification, 4
 */

import type { Clock } from "../clock.ts";
import type { WebhookBounds } from "../config/settings.ts";
import { type Cidr, countedNetwork, embeddedIpv4 } from "../core/address.ts";
import { KeyedQueue } from "../keyed-queue.ts";
import { KeyedSemaphore } from "../keyed-semaphore.ts";
import { RateLimiter } from "../rate-limiter.ts";

export interface SlotOwner {
  /** Provisioning account. */
  readonly account: string;
  /** Host name or IP literal, without port. */
  readonly host: string;
}

export class DestinationLimits {
  /** Also counts the slots of the process. */
  readonly #accounts: KeyedSemaphore;
  readonly #hosts: KeyedSemaphore;
  readonly #addresses: KeyedSemaphore;
  readonly #messageQueue: KeyedQueue;
  readonly #addressQueue: KeyedQueue;
  readonly #accountVerifications: RateLimiter;
  readonly #hostVerifications: RateLimiter;
  readonly #nat64: readonly Cidr[];

  /** @param nat64 prefixes of NAT64 translators; the embedded IPv4 address counts */
  constructor(bounds: WebhookBounds, clock: Clock, nat64: readonly Cidr[] = []) {
    const perSecond = (rate: number) => new RateLimiter(rate, clock);
    const perMinute = (rate: number) => new RateLimiter(rate / 60, clock, rate);
    this.#accounts = new KeyedSemaphore({
      totalMax: bounds.inFlightMax,
      perKeyMax: bounds.accountInFlightMax,
      rate: perSecond(bounds.accountRate),
    });
    this.#hosts = new KeyedSemaphore({
      perKeyMax: bounds.hostInFlightMax,
      rate: perSecond(bounds.hostRate),
    });
    this.#addresses = new KeyedSemaphore({
      perKeyMax: bounds.addressInFlightMax,
      rate: perSecond(bounds.addressRate),
    });
    this.#messageQueue = new KeyedQueue([this.#accounts, this.#hosts], { clock });
    this.#addressQueue = new KeyedQueue([this.#addresses], { clock });
    this.#accountVerifications = perMinute(bounds.accountVerificationsPerMinute);
    this.#hostVerifications = perMinute(bounds.hostVerificationsPerMinute);
    this.#nat64 = nat64;
  }

  /** Number of accounts, hosts and addresses with slots in use. */
  get size(): number {
    return this.#accounts.size + this.#hosts.size + this.#addresses.size;
  }

  /** Number of messages that wait for a slot. */
  get queued(): number {
    return this.#messageQueue.size + this.#addressQueue.size;
  }

  /**
   * Acquires a slot of the process, the account and the host, within their rates: all or none.
   * Queued waiters have precedence.
   *
   * @returns function that releases the slots once
   */
  tryAcquire(destination: SlotOwner): (() => void) | undefined {
    return this.#messageQueue.tryAcquire(keysOf(destination));
  }

  /** How many calls of `tryAcquire` succeed now. */
  room(destination: SlotOwner): number {
    return this.#messageQueue.room(keysOf(destination));
  }

  /**
   * As `tryAcquire`, but waits.
   *
   * @returns undefined when the signal was aborted first
   */
  acquire(destination: SlotOwner, signal: AbortSignal): Promise<(() => void) | undefined> {
    return this.#messageQueue.acquire(keysOf(destination), signal);
  }

  /**
   * Acquires a slot of the address, or waits for it. A message needs it in addition to the slot of
   * the host: several hosts may share one address, and one host may have several.
   *
   * @param address as resolved, without brackets
   */
  acquireAddress(address: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    return this.#addressQueue.acquire([countedAddress(address, this.#nat64)], signal);
  }

  /** As `acquireAddress`, without waiting. */
  tryAcquireAddress(address: string): (() => void) | undefined {
    return this.#addressQueue.tryAcquire([countedAddress(address, this.#nat64)]);
  }

  /**
   * Charges one verification to account and host.
   *
   * @returns 0 when it is permitted; otherwise the whole seconds to wait, and nothing was charged
   */
  chargeVerification(destination: SlotOwner): number {
    const [account, host] = keysOf(destination);
    const waitMs = Math.max(
      this.#accountVerifications.waitMs(account),
      this.#hostVerifications.waitMs(host),
    );
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    this.#accountVerifications.take(account);
    this.#hostVerifications.take(host);
    return 0;
  }
}

function keysOf({ account, host }: SlotOwner) {
  return [account, countedHost(host)] as const;
}

/** Normalizes the spelling of a host. */
function countedHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

/** For a NAT64 address, the embedded IPv4 address. */
function countedAddress(address: string, nat64: readonly Cidr[]): string {
  for (const prefix of nat64) {
    const inner = embeddedIpv4(prefix, address);
    if (inner !== undefined) return inner;
  }
  return countedNetwork(address);
}
