/**
 * The tools of one scenario: its own instances, which are deleted at the end, the seven operations,
 * a decider and a receiver.
 */

import { randomUUID } from "node:crypto";
import type { OperationName } from "@countersign/protocol";
import type { Answer } from "./client/check-answer.ts";
import type { Call, Client } from "./client/client.ts";
import { NoAnswer } from "./client/connection.ts";
import type { RequestResource } from "./client/read-resources.ts";
import { pause } from "./clock.ts";
import type { RequirementId } from "./contract/index.ts";
import type { ConformanceOptions, Timing, Verdict } from "./options.ts";
import type { Receiver } from "./receiver/receiver.ts";
import type { Plan, Registration } from "./receiver/registration.ts";
import { expect, NotTested, Violation } from "./violation.ts";

export interface OwnInstance {
  readonly id: string;
  readonly name: string;
  readonly token: string;
  /** With which it was provisioned. */
  readonly key: string;
  readonly body: unknown;
}

/** A submission and its request. */
export interface Submitted extends RequestResource {
  readonly key: string;
  /** As it was sent. */
  readonly body: unknown;
}

export interface KitParts {
  readonly options: ConformanceOptions;
  readonly timing: Timing;
  readonly client: Client;
  readonly receiver: Receiver | undefined;
  /** Ends with the run. */
  readonly signal: AbortSignal;
}

/** The default submission of scenarios. */
export const SUBMISSION = {
  tool: "conformance.check",
  arguments: { reason: "a check of the provider; decide nothing by hand" },
  timeout: "10m",
} as const;

export class Kit {
  readonly options: ConformanceOptions;
  readonly timing: Timing;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly #receiver: Receiver | undefined;
  /** Ids of the instances to delete, each with a token that permits it. */
  readonly #instances = new Map<string, string>();
  /** Provisionings whose outcome is unknown. */
  readonly #unknown: Call[] = [];
  readonly #registrations: Registration[] = [];

  constructor({ options, timing, client, receiver, signal }: KitParts) {
    this.options = options;
    this.timing = timing;
    this.client = client;
    this.#receiver = receiver;
    this.signal = signal;
  }

  get provisioner(): string {
    return this.options.credential.provisionerToken;
  }

  /** Of a scenario that needs one. */
  get otherProvisioner(): string {
    return this.options.credential.otherProvisionerToken ?? "";
  }

  /** An unused one. */
  key(): string {
    return `conformance-${randomUUID()}`;
  }

  call(operation: OperationName, call: Call): Promise<Answer> {
    return this.client.call(operation, call);
  }

  /** An attempt to provision, whatever comes of it; an instance is deleted in the end. */
  async tryProvision(call: Call): Promise<Answer> {
    try {
      const answer = await this.call("provisionInstance", call);
      const { provisioned } = answer;
      if (provisioned !== undefined) this.own(provisioned.instance.id, call.token);
      return answer;
    } catch (error) {
      this.#unknown.push(call);
      throw error;
    }
  }

  /** An instance to be deleted in the end. */
  own(id: string, token = this.provisioner): void {
    this.#instances.set(id, token);
  }

  /** A provisioning whose answer will not be seen: what comes of it is deleted in the end. */
  ownUnknown(call: Call): void {
    this.#unknown.push(call);
  }

  /** A new instance. */
  async provision(body: unknown = {}, token = this.provisioner): Promise<OwnInstance> {
    const key = this.key();
    const answer = await this.tryProvision({ token, key, body });
    const { instance, token: issued } = provisionedBy(answer);
    return { id: instance.id, name: instance.name, token: issued, key, body };
  }

  /** A new instance whose notifications come to a new registration. */
  async provisionReceiving(
    plan: Plan = {},
  ): Promise<{ readonly instance: OwnInstance; readonly registration: Registration }> {
    const registration = this.register(plan);
    const instance = await this.provision({ delivery: registration.delivery });
    return { instance, registration };
  }

  /** Of a scenario that needs a receiver. */
  register(plan: Plan = {}): Registration {
    if (this.#receiver === undefined) throw new NotTested("there is no receiver");
    const registration = this.#receiver.open(plan);
    this.#registrations.push(registration);
    return registration;
  }

  /** A new request, pending. */
  async submit(instance: OwnInstance, fields: object = {}): Promise<Submitted> {
    const key = this.key();
    const body = { ...SUBMISSION, ...fields };
    const answer = await this.call("createApprovalRequest", { token: instance.token, key, body });
    expectStatus(answer, 201, "request.create");
    const request = requestOf(answer);
    if (request.status !== "pending") {
      throw new NotTested(`the provider decides by itself: a new request is ${request.status}`);
    }
    return { ...request, key, body };
  }

  async read(instance: OwnInstance, id: string, query = "", boundMs?: number) {
    const call = { token: instance.token, id, query, ...(boundMs !== undefined && { boundMs }) };
    const answer = await this.call("getApprovalRequest", call);
    expectStatus(answer, 200, "request.read");
    return requestOf(answer);
  }

  /** Holds a read for up to 30 seconds. */
  poll(instance: OwnInstance, id: string): Promise<RequestResource> {
    return this.read(instance, id, "?wait=30s", 30_000 + this.timing.patienceMs);
  }

  cancel(instance: OwnInstance, id: string): Promise<Answer> {
    return this.call("cancelApprovalRequest", { token: instance.token, id });
  }

  async cancelled(instance: OwnInstance, id: string): Promise<RequestResource> {
    const answer = await this.cancel(instance, id);
    expectStatus(answer, 200, "request.cancel.pending");
    const request = requestOf(answer);
    const { status } = request;
    expect(
      status === "cancelled",
      "request.cancel.pending",
      `${answer.what}: the status is ${status}`,
    );
    return request;
  }

  deleteInstance(id: string, token = this.provisioner): Promise<Answer> {
    return this.call("deleteInstance", { token, id });
  }

  async deleted(instance: OwnInstance): Promise<void> {
    expectStatus(await this.deleteInstance(instance.id), 204, "instance.delete");
    this.#instances.delete(instance.id);
  }

  /** Has the decider decide, and waits until the request shows it. */
  async decide(
    instance: OwnInstance,
    requestId: string,
    verdict: Verdict,
    note?: string,
  ): Promise<RequestResource> {
    await this.tryDecide(requestId, verdict, note).catch((error: unknown) => {
      this.signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      throw new NotTested(`the decider failed: ${reason}`);
    });
    const rule = verdict === "approve" ? "request.approve" : "request.deny";
    const expected = verdict === "approve" ? "approved" : "denied";
    const request = await this.untilTerminal(instance, requestId, this.timing.patienceMs, rule);
    const { status } = request;
    expect(status === expected, rule, `the verdict was ${verdict}, and the request is ${status}`);
    return request;
  }

  /** Rejects when the verdict was not taken. */
  async tryDecide(requestId: string, verdict: Verdict, note?: string): Promise<void> {
    const input = { requestId, verdict, ...(note !== undefined && { note }) };
    await this.options.decider?.decide(input);
  }

  /** Reads until the request is terminal. @throws Violation of `rule` when it takes too long */
  async untilTerminal(
    instance: OwnInstance,
    id: string,
    boundMs: number,
    rule: RequirementId,
  ): Promise<RequestResource> {
    const end = performance.now() + boundMs;
    for (;;) {
      const request = await this.read(instance, id, "?wait=1s");
      if (request.status !== "pending") return request;
      const isInTime = performance.now() < end;
      expect(isInTime, rule, `the request is still pending after ${boundMs / 1000} s`);
      // A provider that does not hold reads is not asked in a tight loop.
      await pause(50, this.signal);
    }
  }

  /** A request with the shortest window that the provider accepts, and how long that is. */
  async submitBrief(
    instance: OwnInstance,
  ): Promise<{ readonly request: Submitted; readonly windowMs: number }> {
    const request = await this.submit(instance, { timeout: "1s" });
    const windowMs = Date.parse(request.deadlineAt) - Date.parse(request.createdAt);
    if (windowMs <= this.timing.windowMsMax) return { request, windowMs };
    const seconds = Math.round(windowMs / 1000);
    throw new NotTested(`the provider makes a timeout of 1s one of ${seconds}s`);
  }

  /** Waits for a message. @throws Violation of `rule` when none comes */
  async expectMessage(
    registration: Registration,
    condition: () => boolean,
    rule: RequirementId,
    what: string,
    boundMs = this.timing.patienceMs,
  ): Promise<void> {
    const came = await registration.until(condition, boundMs, this.signal);
    expect(came, rule, `${what}: not within ${boundMs / 1000} s`);
  }

  /** Lets the time pass in which nothing may arrive. @throws Violation of `rule` when it does */
  async expectQuiet(
    registration: Registration,
    condition: () => boolean,
    rule: RequirementId,
    what: string,
  ): Promise<void> {
    const came = await registration.until(condition, this.timing.quietMs, this.signal);
    expect(!came, rule, what);
  }

  quiet(): Promise<void> {
    return pause(this.timing.quietMs, this.signal);
  }

  /** @throws Violation when a message broke a rule outside of a wait */
  checkMessages(): void {
    if (this.messageViolation !== undefined) throw this.messageViolation;
  }

  /** The first rule that a message broke, inside or outside of a wait. */
  get messageViolation(): Violation | undefined {
    return this.#registrations.find(({ violation }) => violation !== undefined)?.violation;
  }

  /**
   * Deletes the instances of the scenario.
   *
   * @param client a client that stays usable after the run stops
   * @returns ids of the instances that the provider did not delete
   */
  async cleanUp(client: Client): Promise<readonly string[]> {
    for (const call of this.#unknown) {
      const answer = await client.call("provisionInstance", call).catch(() => undefined);
      const { provisioned } = answer ?? {};
      if (provisioned !== undefined) this.own(provisioned.instance.id, call.token);
    }
    const left: string[] = [];
    for (const [id, token] of this.#instances) {
      const status = await client.call("deleteInstance", { token, id }).then(
        (answer) => answer.status,
        (error: unknown) => (error instanceof Violation ? 204 : 0),
      );
      if (status !== 204 && status !== 404) left.push(id);
    }
    return left;
  }
}

export function expectStatus(answer: Answer, status: number, rule: RequirementId): void {
  const code = answer.error === undefined ? "" : ` (${answer.error.code})`;
  expect(answer.status === status, rule, `${answer.what}${code}, not ${status}`);
}

/** A refusal with one of these statuses, and with this code where the contract has one. */
export function expectRefusal(
  answer: Answer,
  statuses: number | readonly number[],
  rule: RequirementId,
  code?: string,
): void {
  const all: readonly number[] = typeof statuses === "number" ? [statuses] : statuses;
  const shown = all.join(" or ");
  expect(all.includes(answer.status), rule, `${answer.what}, not ${shown}`);
  const actual = answer.error?.code;
  expect(
    code === undefined || actual === code,
    rule,
    `${answer.what} with code ${actual}, not ${code}`,
  );
}

/** The request in an answer. Every success answer has one. */
export function requestOf({ request, what }: Answer): RequestResource {
  if (request === undefined) throw new Error(`${what}: no request`);
  return request;
}

export function instanceOf({ instance, what }: Answer) {
  if (instance === undefined) throw new Error(`${what}: no instance`);
  return instance;
}

export function provisionedBy(answer: Answer) {
  expectStatus(answer, 201, "instance.provision.created");
  const { provisioned } = answer;
  if (provisioned === undefined) throw new Error(`${answer.what}: no instance`);
  return provisioned;
}

/** The answer, or that there was none in time. */
export async function answeredInTime<T>(
  answer: Promise<T>,
  rule: RequirementId,
  what: string,
): Promise<T> {
  return answer.catch((error: unknown) => {
    const isLate = error instanceof NoAnswer && error.isTimeout;
    throw isLate ? new Violation(rule, `${what}: ${error.message}`) : error;
  });
}
