/**
 * A client of the OpenID Authorization API and of its profile for access requests.
 */

import assert from "node:assert/strict";
import { enforce } from "./policies.ts";
import { type Scene, startScene } from "./scene.ts";
import type { Answer, Lifetime, TestProviderOptions } from "./test-provider.ts";

export interface Decision {
  readonly decision: boolean;
  readonly context: {
    readonly evaluated_at: string;
    readonly reason: string;
    readonly rule?: string;
    readonly note?: string;
    readonly next_action?: string;
    readonly error?: { readonly status: number; readonly message: string };
    readonly approval?: { readonly id: string; readonly approved_until: string };
    readonly access_request?: AccessRequestHint;
  };
}

export interface AccessRequestHint {
  readonly endpoint: string;
  readonly expires_at: string;
  readonly binding_token: string;
}

export interface TaskAnswer {
  readonly task: {
    readonly id: string;
    readonly status: string;
    readonly status_endpoint: string;
    readonly expires_at?: string;
    readonly links: { readonly cancel: string; readonly review?: string };
  };
  readonly result?: {
    readonly mode: string;
    readonly approval: {
      readonly id: string;
      readonly approved_at: string;
      readonly approved_until: string;
    };
  };
  /** Of a problem document. */
  readonly type?: string;
  readonly code?: string;
  readonly detail?: string;
}

export const EVALUATION = "/access/v1/evaluation";
export const EVALUATIONS = "/access/v1/evaluations";
export const TASKS = "/access/v1/requests";

/** Prefix of the problem types of the profile. */
export const PROBLEM = "urn:openid:authzen:access-request:error:";

/** Look-ups are approved, wipes are denied, and other calls need a reviewer. */
export const POLICY = `version: 1
rules:
  - id: look-ups
    match: { tool: orders.get }
    then: approve
    note: Look-ups are harmless.
  - id: no-wipes
    match: { tool: orders.wipe }
    then: deny
    note: Orders are never wiped.
  - id: admins-cancel
    match: { tool: orders.cancel }
    when: |-
      has(context.authzen.subject.properties) &&
      context.authzen.subject.properties.role == "admin"
    then: approve
`;

/** A call for which policy requires a review. */
export const REFUND = {
  subject: { type: "user", id: "alice@example.com" },
  action: { name: "orders.refund" },
  resource: { type: "order", id: "A-1" },
  context: { arguments: { order: "A-1", amount: 12.5 }, region: "eu" },
};

export async function startAuthzen(
  t: Lifetime,
  options: Pick<TestProviderOptions, "settings"> = {},
): Promise<Scene> {
  const settings = { authzen: "true", ...options.settings };
  const scene = await startScene(t, { settings });
  await enforce(scene.server, POLICY);
  return scene;
}

export function evaluate<T = Decision>(
  { server, instance }: Pick<Scene, "server" | "instance">,
  body: unknown,
  path = EVALUATION,
): Promise<Answer<T>> {
  return server.call<T>("POST", path, { token: instance.token, body });
}

/** The decision about a question that is valid. */
export async function decisionOf(
  scene: Pick<Scene, "server" | "instance">,
  body: unknown,
): Promise<Decision> {
  const answer = await evaluate(scene, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** Evaluates a question that reviewers decide, and returns the submission for it. */
export async function submissionFor(
  scene: Pick<Scene, "server" | "instance">,
  question: object = REFUND,
): Promise<Record<string, unknown>> {
  const { decision, context } = await decisionOf(scene, question);
  assert.equal(decision, false);
  assert.ok(context.access_request, JSON.stringify(context));
  const { binding_token, expires_at } = context.access_request;
  const { evaluated_at, reason } = context;
  return { ...question, denial: { evaluated_at, reason, binding_token, expires_at } };
}

export function submitAccess(
  { server, instance }: Pick<Scene, "server" | "instance">,
  body: unknown,
  key?: string,
): Promise<Answer<TaskAnswer>> {
  const call = { token: instance.token, body, ...(key === undefined ? {} : { key }) };
  return server.call<TaskAnswer>("POST", TASKS, call);
}

export function readTask(
  { server, instance }: Pick<Scene, "server" | "instance">,
  id: string,
): Promise<Answer<TaskAnswer>> {
  return server.call<TaskAnswer>("GET", `${TASKS}/${id}`, { token: instance.token });
}

export async function pendingTask(scene: Scene): Promise<TaskAnswer> {
  const answer = await submitAccess(scene, await submissionFor(scene));
  assert.equal(answer.status, 202, answer.text);
  return answer.json;
}

export function cancelTask(
  { server, instance }: Pick<Scene, "server" | "instance">,
  id: string,
  body?: object,
): Promise<Answer<TaskAnswer>> {
  const call = { token: instance.token, ...(body === undefined ? {} : { body }) };
  return server.call<TaskAnswer>("POST", `${TASKS}/${id}/cancel`, call);
}

/** @param type of a problem of the profile, without its prefix */
export function assertProblem(answer: Answer<TaskAnswer>, status: number, type: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.json.type, PROBLEM + type, answer.text);
}

/** Submits, and a reviewer approves. */
export async function approvedTask(
  scene: Scene,
  question: object = REFUND,
): Promise<Answer<TaskAnswer>> {
  const submitted = await submitAccess(scene, await submissionFor(scene, question));
  assert.equal(submitted.status, 202, submitted.text);
  await scene.server.decide(scene.reviewer, submitted.json.task.id, "approve");
  return readTask(scene, submitted.json.task.id);
}

/** The same question with a reference to an approval. */
export function withApproval(question: { readonly context: object }, approval: unknown): object {
  return { ...question, context: { ...question.context, approval } };
}
