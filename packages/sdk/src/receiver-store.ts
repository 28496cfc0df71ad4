/**
 * What a receiver must not forget: which registrations an instance was verified under, which
 * events have come, and which of them were handled.
 *
 * The store on disk is in file-store.ts.
 */

/** A request has its decision; the request itself is read. @see contract: Events */
export interface ResolvedEvent {
  readonly id: string;
  readonly instanceId: string;
  readonly requestId: string;
  /** Epoch ms; when it was decided. */
  readonly createdAt: number;
}

/** All ids are UUIDs in lower case. What resolves, outlasts a crash. */
export interface ReceiverStore {
  /** An instance proved to have the secret of a registration. */
  bind(instanceId: string, registrationId: string): Promise<void>;
  registrationsOf(instanceId: string): Promise<readonly string[]>;
  /** @returns true for exactly one of all who ever keep an event with this id */
  keep(event: ResolvedEvent): Promise<boolean>;
  /** The event has been dealt with; its id is remembered all the same. */
  finish(eventId: string): Promise<void>;
  /** Kept and not finished, in any order. */
  unfinished(): Promise<readonly ResolvedEvent[]>;
}

/** Remembers until the process ends: for tests and development. */
export class MemoryReceiverStore implements ReceiverStore {
  readonly #bound = new Map<string, Set<string>>();
  readonly #events = new Map<string, ResolvedEvent>();
  readonly #finished = new Set<string>();

  async bind(instanceId: string, registrationId: string): Promise<void> {
    const bound = this.#bound.get(instanceId) ?? new Set();
    this.#bound.set(instanceId, bound.add(registrationId));
  }

  async registrationsOf(instanceId: string): Promise<readonly string[]> {
    return [...(this.#bound.get(instanceId) ?? [])];
  }

  async keep(event: ResolvedEvent): Promise<boolean> {
    if (this.#events.has(event.id)) return false;
    this.#events.set(event.id, event);
    return true;
  }

  async finish(eventId: string): Promise<void> {
    this.#finished.add(eventId);
  }

  async unfinished(): Promise<readonly ResolvedEvent[]> {
    return [...this.#events.values()].filter(({ id }) => !this.#finished.has(id));
  }
}
