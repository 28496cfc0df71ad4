/**
 * Records the promises to callers while servers were killed, and every contradiction. It reads only
 * the responses of the server, so a caller would find the same contradictions.
 */

import type { ApprovalRequest } from "@countersign/sdk";

/** The attempted verdict of a request; no other outcome is allowed. */
export type Intent = "approve" | "deny" | "cancel";

export interface KnownInstance {
  readonly id: string;
  readonly token: string;
  /** Under which it was provisioned. */
  readonly key: string;
  /** Where its notifications go; never changed. Undefined: it has no receiver. */
  readonly receiver: "steady" | "failing" | undefined;
  /** Deletion has been asked for: whether it has happened is unknown until {@link deletedAt}. */
  isDeleting: boolean;
  /** Epoch ms of the answer to its deletion. */
  deletedAt: number | undefined;
}

/** One attempt to submit, whether it was answered or not. */
export interface Submission {
  readonly instance: KnownInstance;
  readonly key: string;
  /** Exact JSON of the arguments. */
  readonly source: string;
  readonly timeout: string;
  /** As it was answered last; undefined when no answer has come. */
  known: ApprovalRequest | undefined;
  /** By `performance.now()`, when it was first known to be decided. */
  decidedBy: number | undefined;
  readonly intents: Set<Intent>;
}

export interface ReceivedEvent {
  readonly id: string;
  readonly requestId: string;
  readonly instanceId: string;
  readonly body: string;
  /** Epoch ms. */
  readonly at: number;
  /** Epoch ms that the event itself names. */
  readonly decidedAt: number;
}

/** An attempt ends within 10 s, so one that starts later was started after the deletion. */
const ATTEMPT_MS_MAX = 10_000;

export class Journal {
  readonly violations: string[] = [];
  readonly instances: KnownInstance[] = [];
  readonly submissions: Submission[] = [];
  /** The first of each event, by its id. */
  readonly events = new Map<string, ReceivedEvent>();
  /** How often events have arrived, the first time included. */
  arrivals = 0;
  readonly #byId = new Map<string, Submission>();
  readonly #eventByRequest = new Map<string, string>();
  readonly #instanceById = new Map<string, KnownInstance>();
  readonly #open = new Map<string, number>();

  violate(promise: string, what: string): void {
    this.violations.push(`${promise}: ${what}`);
  }

  add(submission: Omit<Submission, "known" | "decidedBy" | "intents">): Submission {
    const unknown = { known: undefined, decidedBy: undefined };
    const added = { ...submission, ...unknown, intents: new Set<Intent>() };
    this.submissions.push(added);
    return added;
  }

  /** A new instance, or the same one again. */
  provisioned(instance: KnownInstance): void {
    const before = this.instances.find(({ key }) => key === instance.key);
    if (before === undefined) {
      this.instances.push(instance);
      this.#instanceById.set(instance.id, instance);
    } else if (before.id !== instance.id || before.token !== instance.token) {
      this.violate("I2", `provisioning ${instance.key} made ${before.id} and ${instance.id}`);
    }
  }

  /**
   * An answer about a request, from whichever operation.
   *
   * @param askedAt by `performance.now()`: what was pending then may be decided by now
   */
  observe(submission: Submission, request: ApprovalRequest, askedAt: number): void {
    const { known, key, source } = submission;
    const { id, decision } = request;
    const other = this.#byId.get(id);
    if (known !== undefined && known.id !== id) {
      this.violate("I2", `${key} is ${known.id} and ${id}`);
    } else if (other !== undefined && other !== submission) {
      this.violate("I2", `${id} is of ${other.key} and of ${key}`);
    }
    if (request.arguments.source !== source) this.violate("I10", `${id} has other arguments`);
    const before = known?.decision;
    const isOvertaken = decision === undefined && askedAt < (submission.decidedBy ?? 0);
    if (isOvertaken) return;
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(decision)) {
      const [was, is] = [JSON.stringify(before), JSON.stringify(decision)];
      this.violate("I1", `${id} was ${was} and is ${is}`);
    }
    if (before === undefined) this.#judge(submission, request);
    if (decision !== undefined) submission.decidedBy ??= performance.now();
    this.#byId.set(id, submission);
    submission.known = request;
  }

  /** Checks a decision that is seen for the first time against the attempts. */
  #judge({ intents, instance }: Submission, request: ApprovalRequest): void {
    const { id, decision, deadlineAt } = request;
    if (decision === undefined) return;
    const { status, decidedAt } = decision;
    const isWanted = {
      approved: intents.has("approve"),
      denied: intents.has("deny"),
      cancelled: intents.has("cancel") || instance.isDeleting,
      expired: decidedAt >= deadlineAt,
    }[status];
    if (!isWanted) this.violate("I12", `${id} is ${status} without a matching verdict`);
    if (status === "approved" && decidedAt >= deadlineAt) {
      this.violate("I6", `${id} was approved ${decidedAt - deadlineAt} ms after its deadline`);
    }
    this.#compare(id, decidedAt);
  }

  /** @returns to be called when the exchange is over */
  arrived(received: ReceivedEvent): () => void {
    this.arrivals++;
    const { id, requestId } = received;
    const first = this.events.get(id);
    if (first === undefined) this.events.set(id, received);
    else if (first.body !== received.body) this.violate("I9", `event ${id} changed its bytes`);
    const other = this.#eventByRequest.get(requestId) ?? id;
    if (other !== id) this.violate("I3", `${requestId} has the events ${other} and ${id}`);
    this.#eventByRequest.set(requestId, id);
    const decidedAt = this.#byId.get(requestId)?.known?.decision?.decidedAt;
    if (decidedAt !== undefined) this.#compare(requestId, decidedAt);
    this.#refuseLate(received);
    const open = (this.#open.get(id) ?? 0) + 1;
    this.#open.set(id, open);
    if (open > 1) this.violate("I4", `event ${id} is attempted ${open} times at once`);
    return () => this.#open.set(id, (this.#open.get(id) ?? 0) - 1);
  }

  #refuseLate({ id, instanceId, at }: ReceivedEvent): void {
    const deletedAt = this.#instanceById.get(instanceId)?.deletedAt;
    if (deletedAt === undefined || at - deletedAt <= ATTEMPT_MS_MAX) return;
    this.violate("I7", `event ${id} came ${at - deletedAt} ms after its instance was deleted`);
  }

  /** The event of a request contains the time of its decision. */
  #compare(requestId: string, decidedAt: number): void {
    const event = this.events.get(this.#eventByRequest.get(requestId) ?? "");
    if (event === undefined || event.decidedAt === decidedAt) return;
    this.violate("I3", `${requestId} was decided at ${decidedAt}, its event says other`);
  }

  eventOf(requestId: string): ReceivedEvent | undefined {
    return this.events.get(this.#eventByRequest.get(requestId) ?? "");
  }
}
