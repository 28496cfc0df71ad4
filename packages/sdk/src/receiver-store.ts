/**
 * The durable state of a receiver: the verified registrations of each instance, the received
 * events, and which of them are finished.
 *
 * The store on disk is in file-store.ts.
 */

/**
 * A notification that a request is resolved. It does not contain the decision: read the request.
 *
 * @see contract: Events
 */
export interface ResolvedEvent {
  /** UUID of the event, in lower case. */
  readonly id: string;
  /** Id of the agent's instance, a UUID in lower case. */
  readonly instanceId: string;
  /** Id of the resolved request, a UUID in lower case. */
  readonly requestId: string;
  /** Time of the decision, epoch ms. */
  readonly createdAt: number;
}

/** Stores the state of a receiver. All ids are UUIDs in lower case. Resolved writes are durable. */
export interface ReceiverStore {
  /** Records that an instance proved to have the secret of a registration. */
  bind(instanceId: string, registrationId: string): Promise<void>;
  /** Lists the registrations of an instance. @returns their ids */
  registrationsOf(instanceId: string): Promise<readonly string[]>;
  /** Stores an event. @returns true for the first event with this id, false for every later one */
  keep(event: ResolvedEvent): Promise<boolean>;
  /** Marks an event as handled. The store must keep the id, to detect repeated events. */
  finish(eventId: string): Promise<void>;
  /** Lists the stored events that are not finished, in any order. */
  unfinished(): Promise<readonly ResolvedEvent[]>;
}

/** Stores the state in memory until the process exits: for tests and development. */
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
