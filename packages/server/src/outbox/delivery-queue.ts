/**
 * The instances that wait for webhook deliveries, in turns by host. Only in memory: the database
 * is the truth.
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
  /** Where it stands in line, and key of the breaker for its host. */
  readonly origin: string;
  readonly destination: SlotOwner;
  /** Attempts to begin in the next turn; doubles while there is more to deliver. */
  wanted: number;
  /** Its turn is under way. */
  isServed: boolean;
  /** Something was signalled since its turn began. */
  isExpected: boolean;
  /** When it began to rest, epoch ms; undefined when it does not. */
  restsSince: number | undefined;
}

/** Attempts of one turn: others wait too. */
const WANTED_MAX = 16;

/** Of an instance whose notifications cannot even be claimed. */
const REST_MS = 15_000;

/** No account and no host has this name: only the process can be full for it. */
const UNUSED_KEY = " ";

export class DeliveryQueue implements OutboxQueue<WaitingInstance> {
  readonly #limits: DestinationLimits;
  /** Of single receivers, for any failure. */
  readonly #receivers = new Breaker();
  /** Of hosts, for failures to reach them at all: one bad path must not stop its neighbours. */
  readonly #origins = new Breaker();
  readonly #members = new Map<string, Member>();
  /** Members by host; hosts and members are in the order of turns. */
  readonly #byOrigin = new Map<string, Set<Member>>();
  /** Slots in use, by breaker key. */
  readonly #inUse = new KeyedSemaphore();

  constructor(limits: DestinationLimits) {
    this.#limits = limits;
  }

  /** How many instances wait. */
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

  /** @returns false when nothing is known of this instance */
  expect(instanceId: string): boolean {
    const member = this.#members.get(instanceId);
    if (member !== undefined) member.isExpected = true;
    return member !== undefined;
  }

  /** Ends pauses: an operator wants an attempt now. */
  retryNow(instanceId: string): void {
    const member = this.#members.get(instanceId);
    if (member === undefined) return;
    member.restsSince = undefined;
    this.#receivers.retryNow(member.receiver);
    this.#origins.retryNow(member.origin);
  }

  /** Gives turns while there is room, one to each host before the next to any. */
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

  /** @returns how many had a turn */
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

  /** @param more whether the turn left something that is due */
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

  /** Undefined when its receiver is another by now. */
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

  /** The slots of the account, divided by the queued hosts: of many hosts each gets one. */
  #share({ destination: { account } }: Member): number {
    const room = this.#limits.room({ account, host: UNUSED_KEY });
    return Math.max(1, Math.floor(room / this.#byOrigin.size));
  }

  /** Whether this host has no free slot for any account. */
  #isFull(host: string): boolean {
    return this.#limits.room({ account: UNUSED_KEY, host }) === 0;
  }

  #room(breaker: Breaker, key: string, now: number): number {
    return breaker.room(key, now) - this.#inUse.inUse(key);
  }

  /** The slot also counts for the breakers, from the claim to the end of the attempt. */
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
  // One name for all whose URL is gone or not acceptable any more: nothing is sent there.
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

/** A connection was up, with a valid certificate: what failed then is one receiver's. */
const REACHED: ReadonlySet<string> = new Set(["reset", "stale", "protocol", "too_large"]);

/** Undefined when unknown: the path or the host may be silent, and a bug is our own. */
function isReached(outcome: Exclude<AttemptOutcome, { kind: "postponed" }>): boolean | undefined {
  if (outcome.kind !== "unreachable") return outcome.kind !== "refused";
  if (outcome.reason === "timeout" || outcome.reason === "internal") return undefined;
  return REACHED.has(outcome.reason);
}

/** A clock that was set back does not make a rest longer. */
function isResting({ restsSince }: Member, now: number): boolean {
  return restsSince !== undefined && now >= restsSince && now < restsSince + REST_MS;
}
