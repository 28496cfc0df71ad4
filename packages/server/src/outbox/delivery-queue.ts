/**
 * The instances with due webhooks, in turns by host. Kept in memory; the database is authoritative.
 */

import { parseWebhookUrl } from "@countersign/protocol";
import type { AttemptOutcome } from "../core/notification.ts";
import { Breaker } from "../delivery/breaker.ts";
import type { DestinationLimits, SlotOwner } from "../delivery/destination-limits.ts";
import { KeyedSemaphore } from "../keyed-semaphore.ts";
import type { WaitingInstance } from "../storage/sql/deliveries/waiting-instances.ts";
import type { OutboxQueue, QueueTurn } from "./destination.ts";

interface Member {
  readonly instance: WaitingInstance;
  /** Key of the breaker for this receiver. */
  readonly receiver: string;
  /** Its host: the queue that it is in, and the key of the breaker for the host. */
  readonly origin: string;
  readonly destination: SlotOwner;
  /** Attempts to start in the next turn. Doubles while more are due. */
  wanted: number;
  /** True during its turn. */
  isServed: boolean;
  /** True after a signal during its turn. */
  isExpected: boolean;
  /** Start of its pause, epoch ms; undefined without one. */
  restsSince: number | undefined;
}

/** Maximum attempts of one turn, because others wait too. */
const WANTED_MAX = 16;

/** Pause of an instance after a failed claim. */
const REST_MS = 15_000;

/** An unused account and host: only the limit of the process applies to it. */
const UNUSED_KEY = " ";

export class DeliveryQueue implements OutboxQueue<WaitingInstance> {
  readonly #limits: DestinationLimits;
  /** Breakers of single receivers, for any failure. */
  readonly #receivers = new Breaker();
  /**
   * Breakers of hosts, for connection failures only: one failing path must not block its
   * neighbours.
   */
  readonly #origins = new Breaker();
  readonly #members = new Map<string, Member>();
  /** Members by host. Hosts and members are in serving order. */
  readonly #byOrigin = new Map<string, Set<Member>>();
  /** Slots in use, by breaker key. */
  readonly #inUse = new KeyedSemaphore();

  constructor(limits: DestinationLimits) {
    this.#limits = limits;
  }

  /** Number of queued instances. */
  get size(): number {
    return this.#members.size;
  }

  add(instance: WaitingInstance): void {
    const known = this.#members.get(instance.instanceId);
    if (known?.instance.url === instance.url) {
      known.isExpected = true;
      return;
    }
    if (known !== undefined) this.#remove(known);
    const member = newMember(instance);
    this.#members.set(instance.instanceId, member);
    const members = this.#byOrigin.get(member.origin) ?? new Set();
    this.#byOrigin.set(member.origin, members.add(member));
  }

  /** @returns false when this instance is not queued */
  expect(instanceId: string): boolean {
    const member = this.#members.get(instanceId);
    if (member !== undefined) member.isExpected = true;
    return member !== undefined;
  }

  /** Ends pauses for a retry by an operator. */
  retryNow(instanceId: string): void {
    const member = this.#members.get(instanceId);
    if (member === undefined) return;
    member.restsSince = undefined;
    this.#receivers.retryNow(member.receiver);
    this.#origins.retryNow(member.origin);
  }

  /** Yields turns while slots are free: one for each host before the next for any. */
  *turns(now: number): Generator<QueueTurn<WaitingInstance>> {
    if (this.#isFull(UNUSED_KEY)) return;
    const fullAccounts = new Set<string>();
    // A member that had a turn moves to the end of the queue, where it is skipped.
    for (const [origin, members] of this.#byOrigin) {
      if (this.#room(this.#origins, origin, now) <= 0) continue;
      const served = yield* this.#turnsOf(members, fullAccounts, now);
      if (served === 0) continue;
      if (this.#byOrigin.delete(origin)) this.#byOrigin.set(origin, members);
      if (this.#isFull(UNUSED_KEY)) return;
    }
  }

  /** @returns the number of turns */
  *#turnsOf(
    members: Set<Member>,
    fullAccounts: Set<string>,
    now: number,
  ): Generator<QueueTurn<WaitingInstance>, number> {
    let served = 0;
    for (const member of members) {
      const { receiver, origin, destination } = member;
      if (member.isServed || isResting(member, now)) continue;
      if (fullAccounts.has(destination.account)) continue;
      if (this.#room(this.#receivers, receiver, now) <= 0) continue;
      const slots = this.#take(member, this.#share(member), now);
      if (slots === undefined) {
        if (this.#room(this.#origins, origin, now) <= 0 || this.#isFull(destination.host)) break;
        fullAccounts.add(destination.account);
        continue;
      }
      served++;
      member.isServed = true;
      member.isExpected = false;
      if (members.delete(member)) members.add(member);
      yield { item: member.instance, slots };
    }
    return served;
  }

  /** @param more true when more is due after the turn */
  served({ item }: QueueTurn<WaitingInstance>, more: boolean): void {
    const member = this.#memberOf(item);
    if (member === undefined) return;
    member.isServed = false;
    member.wanted = more ? Math.min(member.wanted * 2, WANTED_MAX) : 1;
    if (!more && !member.isExpected) this.#remove(member);
  }

  failed({ item }: QueueTurn<WaitingInstance>, now: number): void {
    const member = this.#memberOf(item);
    if (member === undefined) return;
    member.isServed = false;
    member.restsSince = now;
  }

  /** Updates the breakers. */
  attempted(instance: WaitingInstance, outcome: AttemptOutcome, now: number): void {
    if (outcome.kind === "postponed") return;
    const { receiver, origin } = this.#memberOf(instance) ?? newMember(instance);
    if (outcome.kind === "acknowledged") this.#receivers.succeeded(receiver, now);
    else this.#receivers.failed(receiver, now);
    const reached = isReached(outcome);
    if (reached === true) this.#origins.succeeded(origin, now);
    if (reached === false) this.#origins.failed(origin, now);
  }

  /** Undefined when its receiver has changed. */
  #memberOf(instance: WaitingInstance): Member | undefined {
    const member = this.#members.get(instance.instanceId);
    return member?.instance === instance ? member : undefined;
  }

  /** @returns undefined when no slot is free */
  #take({ instance, receiver, origin, destination, wanted }: Member, share: number, now: number) {
    const slots: (() => void)[] = [];
    if (instance.url === null) return slots;
    while (slots.length < Math.min(wanted, share)) {
      const isPaused =
        this.#room(this.#receivers, receiver, now) <= 0 ||
        this.#room(this.#origins, origin, now) <= 0;
      const release = isPaused ? undefined : this.#limits.tryAcquire(destination);
      if (release === undefined) break;
      slots.push(this.#counted(release, [receiver, origin]));
    }
    return slots.length === 0 ? undefined : slots;
  }

  /** The slots of the account, divided by its queued hosts, at least one each. */
  #share({ destination: { account } }: Member): number {
    const room = this.#limits.room({ account, host: UNUSED_KEY });
    return Math.max(1, Math.floor(room / this.#byOrigin.size));
  }

  /** True when this host has no free slot for any account. */
  #isFull(host: string): boolean {
    return this.#limits.room({ account: UNUSED_KEY, host }) === 0;
  }

  #room(breaker: Breaker, key: string, now: number): number {
    return breaker.room(key, now) - this.#inUse.inUse(key);
  }

  /** The breakers also count the slot, from the claim to the end of the attempt. */
  #counted(releaseSlot: () => void, keys: readonly string[]): () => void {
    const releases = keys.map((key) => this.#inUse.tryAcquire(key));
    return () => {
      releaseSlot();
      for (const release of releases) release?.();
    };
  }

  #remove(member: Member): void {
    this.#members.delete(member.instance.instanceId);
    const members = this.#byOrigin.get(member.origin);
    members?.delete(member);
    if (members?.size === 0) this.#byOrigin.delete(member.origin);
  }
}

function newMember(instance: WaitingInstance): Member {
  const { instanceId, provisionerId: account, url } = instance;
  // One key for all URLs that are missing or no longer accepted. Nothing is sent there.
  const { host = "", authority = "" } = parseWebhookUrl(url ?? "", { internalNames: true }) ?? {};
  return {
    instance,
    receiver: `${instanceId} ${url}`,
    origin: authority,
    destination: { account, host },
    wanted: 1,
    isServed: false,
    isExpected: true,
    restsSince: undefined,
  };
}

/** Failures after a connection with a valid certificate: they concern one receiver only. */
const REACHED: ReadonlySet<string> = new Set(["reset", "stale", "protocol", "too_large"]);

/** Undefined when unknown: the path or the host may be silent, or this server has a defect. */
function isReached(outcome: Exclude<AttemptOutcome, { kind: "postponed" }>): boolean | undefined {
  if (outcome.kind !== "unreachable") return outcome.kind !== "refused";
  if (outcome.reason === "timeout" || outcome.reason === "internal") return undefined;
  return REACHED.has(outcome.reason);
}

/** If the clock was set back, the pause does not become longer. */
function isResting({ restsSince }: Member, now: number): boolean {
  return restsSince !== undefined && now >= restsSince && now < restsSince + REST_MS;
}
