/**
 * Any operation of the contract as one call that succeeds, so that a test can change one thing
 * about it and go through all seven.
 */

import { type ErrorResponse, OPERATIONS, type OperationName } from "@countersign/protocol";
import { type Answer, type Call, SUBMISSION, type TestProvider } from "./test-provider.ts";

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

export const INSTANCE_OPERATIONS = OPERATION_NAMES.filter(
  (name) => OPERATIONS[name].credential === "provisioner",
);

export const REQUEST_OPERATIONS = OPERATION_NAMES.filter(
  (name) => OPERATIONS[name].credential === "instance",
);

/** The operations with an id in their path. */
export const ID_OPERATIONS = OPERATION_NAMES.filter((name) => OPERATIONS[name].path.includes(":"));

export const BODY_OPERATIONS = OPERATION_NAMES.filter((name) => OPERATIONS[name].idempotencyKey);

const BODIES: Readonly<Partial<Record<OperationName, object>>> = {
  provisionInstance: {},
  updateInstance: { instance_name: "renamed" },
  createApprovalRequest: SUBMISSION,
};

/** Whom and what an operation is called with and on. */
export interface Stage {
  readonly provisioner: string;
  readonly credential: string;
  readonly instanceId: string;
  /** Pending. */
  readonly requestId: string;
}

export interface Change extends Call {
  /** In the path, instead of that of the stage. */
  readonly id?: string;
}

/** A new provisioner with an instance that has a pending request. */
export async function setStage(
  server: TestProvider,
  project = "default",
  holder = "provisioner",
): Promise<Stage> {
  const provisioner = await server.token({ kind: "provisioner", project, name: holder });
  const { instance, credential } = await server.provision(provisioner);
  const { id: requestId } = await server.submit(credential.token);
  return { provisioner, credential: credential.token, instanceId: instance.id, requestId };
}

/** Calls an operation so that it succeeds, except for the effect of `change`. */
export function callOperation<T = ErrorResponse>(
  server: TestProvider,
  operation: OperationName,
  stage: Stage,
  { id, ...call }: Change = {},
): Promise<Answer<T>> {
  const { method, credential, idempotencyKey } = OPERATIONS[operation];
  const body = BODIES[operation];
  return server.call<T>(method, pathOf(server, operation, stage, id), {
    token: credential === "provisioner" ? stage.provisioner : stage.credential,
    ...(idempotencyKey && { key: server.freshKey() }),
    ...(body && { body }),
    ...call,
  });
}

export function pathOf(
  server: TestProvider,
  operation: OperationName,
  stage: Stage,
  id?: string,
): string {
  const { path, credential } = OPERATIONS[operation];
  const own = credential === "provisioner" ? stage.instanceId : stage.requestId;
  return server.provider.context.settings.pathPrefix + path.replace(":id", id ?? own);
}
