/**
 * How much may be sent at once and how often: in this process, for one provisioning account, to
 * one host and to one address, over all instances together. Counted in memory by every replica
 * for itself.
 *
 * Called by: the outbox (which takes what is free and never waits), verifications (which
 * wait in line) and the egress client (which waits for an address once it knows it).
 *
 * @see contract: Limits, Other rules, 1; Events, webhook.verification, 4
 */

import type { Clock } from "../clock.ts";
import type { WebhookBounds } from "../config/settings.ts";
import { type Cidr, countedNetwork, embeddedIpv4 } from "../core/address.ts";
import { RateLimiter } from "../rate-limiter.ts";
import { Bound, type Entry, Line } from "./waiting-line.ts";

export interface Destination {
  /** Provisioning account. */
  readonly account: string;
  /** Name, or literal, without port. */
  readonly host: string;
}

export class DestinationLimits {
  readonly #process: Bound;
  readonly #accounts: Bound;
  readonly #hosts: Bound;
  readonly #addresses: Bound;
  readonly #messageLine: Line;
  readonly #addressLine: Line;
  readonly #accountVerifications: RateLimiter;
  readonly #hostVerifications: RateLimiter;
  readonly #nat64: readonly Cidr[];

  /**
   * @param nat64 the prefixes of NAT64 translators: behind them, the IPv4 address inside counts
   */
  constructor(bounds: WebhookBounds, clock: Clock, nat64: readonly Cidr[] = []) {
    const perSecond = (rate: number) => new RateLimiter(rate, clock);
    const perMinute = (rate: number) => new RateLimiter(rate / 60, clock, rate);
    this.#process = new Bound(bounds.inFlightMax, perSecond(0));
    this.#accounts = new Bound(bounds.accountInFlightMax, perSecond(bounds.accountRate));
    this.#hosts = new Bound(bounds.hostInFlightMax, perSecond(bounds.hostRate));
    this.#addresses = new Bound(bounds.addressInFlightMax, perSecond(bounds.addressRate));
    this.#accountVerifications = perMinute(bounds.accountVerificationsPerMinute);
    this.#hostVerifications = perMinute(bounds.hostVerificationsPerMinute);
    this.#messageLine = new Line(clock);
    this.#addressLine = new Line(clock);
    this.#nat64 = nat64;
  }

  /** How many accounts, hosts and addresses are remembered because something is in flight. */
  get size(): number {
    return this.#accounts.size + this.#hosts.size + this.#addresses.size;
  }

  /** How many wait in line, for a place or an address. */
  get waiting(): number {
    return this.#messageLine.size + this.#addressLine.size;
  }

  /**
   * A place for one message, of the process, the account and the host, and one of their rates: all
   * of it or nothing. Whoever waits in line comes first.
   *
   * @returns leaves the place; to leave twice is harmless
   */
  tryEnter(destination: Destination): (() => void) | undefined {
    return this.#messageLine.tryEnter(this.#entry(destination));
  }

  /** How many places `tryEnter` would give right now, rates included. */
  room(destination: Destination): number {
    return this.#messageLine.room(this.#entry(destination));
  }

  /**
   * As `tryEnter`, but waits. First come, first served, except that nobody waits for those who
   * wait for something else.
   *
   * @returns undefined when the signal was aborted first
   */
  enter(destination: Destination, signal: AbortSignal): Promise<(() => void) | undefined> {
    return this.#messageLine.enter(this.#entry(destination), signal);
  }

  /**
   * A place at an address, as `enter` gives one at a host. It comes on top of that: many hosts may
   * have one address, and one host many.
   *
   * @param address as it was resolved, without brackets
   */
  enterAddress(address: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    return this.#addressLine.enter(this.#addressEntry(address), signal);
  }

  /** As `enterAddress`, without waiting. */
  tryEnterAddress(address: string): (() => void) | undefined {
    return this.#addressLine.tryEnter(this.#addressEntry(address));
  }

  /**
   * Charges one verification to account and host.
   *
   * @returns 0 when it may go on, else the whole seconds after which it may; a refused one charges
   * nobody
   */
  chargeVerification({ account, host }: Destination): number {
    const charges: readonly (readonly [RateLimiter, string])[] = [
      [this.#accountVerifications, account],
      [this.#hostVerifications, countedHost(host)],
    ];
    const waitMs = Math.max(...charges.map(([limiter, key]) => limiter.waitMs(key)));
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    for (const [limiter, key] of charges) limiter.take(key);
    return 0;
  }

  #addressEntry(address: string): Entry {
    return [{ bound: this.#addresses, key: countedAddress(address, this.#nat64) }];
  }

  #entry({ account, host }: Destination): Entry {
    return [
      { bound: this.#process, key: "" },
      { bound: this.#accounts, key: account },
      { bound: this.#hosts, key: countedHost(host) },
    ];
  }
}

/** One host has one name, however it is written. */
function countedHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

/** Behind a translator, the IPv4 address inside counts. */
function countedAddress(address: string, nat64: readonly Cidr[]): string {
  for (const prefix of nat64) {
    const inner = embeddedIpv4(prefix, address);
    if (inner !== undefined) return inner;
  }
  return countedNetwork(address);
}
