/**
 * Who waits for delivery and whose turn it is, host by host. In memory only: a hint of what the
 * database knows better.
 *
 * Called by: the delivery worker.
 */

import { parseWebhookUrl } from "@countersign/protocol";
import type { AttemptOutcome } from "../core/notification.ts";
import { Breaker } from "../delivery/breaker.ts";
import type { Destination, DestinationLimits } from "../delivery/destination-limits.ts";
import type { WaitingInstance } from "../operations/deliveries/listWaitingInstances.ts";

/** A turn: an instance, and places for the attempts it may begin. */
export interface Turn {
  readonly instance: WaitingInstance;
  /** Each leaves its place. Empty where there is no receiver and only an end to record. */
  readonly places: (() => void)[];
}

interface Member {
  readonly instance: WaitingInstance;
  /** Key of the breaker for this receiver. */
  readonly receiver: string;
  /** Where it stands in line, and key of the breaker for its host. */
  readonly origin: string;
  readonly destination: Destination;
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

/** No account and no host has this name: of what it asks for, only the process can be full. */
const NOBODY = " ";

export class DeliveryLine {
  readonly #limits: DestinationLimits;
  /** Of single receivers, for any failure. */
  readonly #receivers = new Breaker();
  /** Of hosts, for failures to reach them at all: one bad path must not stop its neighbours. */
  readonly #origins = new Breaker();
  readonly #members = new Map<string, Member>();
  /** Members by host; hosts and members are in the order of turns. */
  readonly #byOrigin = new Map<string, Set<Member>>();
  /** Places taken, by breaker key. */
  readonly #taken = new Map<string, number>();

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

  /** Ends pauses, for an operator who wants to see a try. */
  hurry(instanceId: string): void {
    const member = this.#members.get(instanceId);
    if (member === undefined) return;
    member.restsSince = undefined;
    this.#receivers.hurry(member.receiver);
    this.#origins.hurry(member.origin);
  }

  /** Gives turns while there is room, one to each host before the next to any. */
  *turns(now: number): Generator<Turn> {
    if (this.#isFull(NOBODY)) return;
    const fullAccounts = new Set<string>();
    // Whoever had a turn goes to the end of its line, where it is met again and passed over.
    for (const [origin, members] of this.#byOrigin) {
      if (this.#room(this.#origins, origin, now) <= 0) continue;
      const served = yield* this.#turnsOf(members, fullAccounts, now);
      if (served === 0) continue;
      if (this.#byOrigin.delete(origin)) this.#byOrigin.set(origin, members);
      if (this.#isFull(NOBODY)) return;
    }
  }

  /** @returns how many had a turn */
  *#turnsOf(members: Set<Member>, fullAccounts: Set<string>, now: number): Generator<Turn, number> {
    let served = 0;
    for (const member of members) {
      const { receiver, origin, destination } = member;
      if (member.isServed || isResting(member, now)) continue;
      if (fullAccounts.has(destination.account)) continue;
      if (this.#room(this.#receivers, receiver, now) <= 0) continue;
      const places = this.#take(member, this.#share(member), now);
      if (places === undefined) {
        if (this.#room(this.#origins, origin, now) <= 0 || this.#isFull(destination.host)) break;
        fullAccounts.add(destination.account);
        continue;
      }
      served++;
      member.isServed = true;
      member.isExpected = false;
      if (members.delete(member)) members.add(member);
      yield { instance: member.instance, places };
    }
    return served;
  }

  /** @param more whether the turn left something that is due */
  served({ instance }: Turn, more: boolean): void {
    const member = this.#memberOf(instance);
    if (member === undefined) return;
    member.isServed = false;
    member.wanted = more ? Math.min(member.wanted * 2, WANTED_MAX) : 1;
    if (!more && !member.isExpected) this.#remove(member);
  }

  /** The turn failed for a reason of ours; the next one comes later. */
  rest({ instance }: Turn, now: number): void {
    const member = this.#memberOf(instance);
    if (member === undefined) return;
    member.isServed = false;
    member.restsSince = now;
  }

  /** Teaches the breakers. */
  ended(instance: WaitingInstance, outcome: AttemptOutcome, now: number): void {
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

  /** @returns undefined when there is no room */
  #take({ instance, receiver, origin, destination, wanted }: Member, share: number, now: number) {
    const places: (() => void)[] = [];
    if (instance.url === null) return places;
    while (places.length < Math.min(wanted, share)) {
      const isPaused =
        this.#room(this.#receivers, receiver, now) <= 0 ||
        this.#room(this.#origins, origin, now) <= 0;
      const leave = isPaused ? undefined : this.#limits.tryEnter(destination);
      if (leave === undefined) break;
      places.push(this.#counted(leave, [receiver, origin]));
    }
    return places.length === 0 ? undefined : places;
  }

  /** The places of the account, divided by the hosts in line: of many hosts each gets one. */
  #share({ destination: { account } }: Member): number {
    const room = this.#limits.room({ account, host: NOBODY });
    return Math.max(1, Math.floor(room / this.#byOrigin.size));
  }

  /** Whether there is no room at this host, whoever asks. */
  #isFull(host: string): boolean {
    return this.#limits.room({ account: NOBODY, host }) === 0;
  }

  #room(breaker: Breaker, key: string, now: number): number {
    return breaker.room(key, now) - (this.#taken.get(key) ?? 0);
  }

  /** A place that also counts for the breakers, from the claim to the end of the attempt. */
  #counted(leave: () => void, keys: readonly string[]): () => void {
    for (const key of keys) this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      leave();
      for (const key of keys) {
        const rest = (this.#taken.get(key) ?? 0) - 1;
        if (rest > 0) this.#taken.set(key, rest);
        else this.#taken.delete(key);
      }
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

/** Undefined when nobody can tell: a path may be silent or the host, and a bug is our own. */
function isReached(outcome: Exclude<AttemptOutcome, { kind: "postponed" }>): boolean | undefined {
  if (outcome.kind !== "unreachable") return outcome.kind !== "refused";
  if (outcome.reason === "timeout" || outcome.reason === "internal") return undefined;
  return REACHED.has(outcome.reason);
}

/** A clock that was set back does not make a rest longer. */
function isResting({ restsSince }: Member, now: number): boolean {
  return restsSince !== undefined && now >= restsSince && now < restsSince + REST_MS;
}
