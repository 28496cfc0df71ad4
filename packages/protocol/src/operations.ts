/**
 * The seven provider operations as data. Routes, authentication, tests and contract/openapi.yaml
 * must all agree with this table.
 *
 * @see contract: Endpoints, Provider operations
 */

/** The kinds of credentials. */
export type CredentialKind = "provisioner" | "instance" | "reviewer";

/** One operation of the contract. */
export interface Operation {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Relative to the base address; `:id` is an Identifier. */
  readonly path: string;
  readonly credential: "provisioner" | "instance";
  readonly idempotencyKey: boolean;
  readonly success: readonly number[];
  readonly errors: readonly number[];
}

const INSTANCES = "/v1/instances";
const REQUESTS = "/v1/requests";

/** The operations of the contract, by their `operationId`. */
export const OPERATIONS = {
  provisionInstance: {
    method: "POST",
    path: INSTANCES,
    credential: "provisioner",
    idempotencyKey: true,
    success: [201, 200],
    errors: [400, 401, 403, 409, 422, 429, 500, 503],
  },
  getInstance: {
    method: "GET",
    path: `${INSTANCES}/:id`,
    credential: "provisioner",
    idempotencyKey: false,
    success: [200],
    errors: [401, 403, 404, 429, 500, 503],
  },
  updateInstance: {
    method: "PATCH",
    path: `${INSTANCES}/:id`,
    credential: "provisioner",
    idempotencyKey: true,
    success: [200],
    errors: [400, 401, 403, 404, 409, 422, 429, 500, 503],
  },
  deleteInstance: {
    method: "DELETE",
    path: `${INSTANCES}/:id`,
    credential: "provisioner",
    idempotencyKey: false,
    success: [204],
    errors: [401, 403, 404, 429, 500, 503],
  },
  createApprovalRequest: {
    method: "POST",
    path: REQUESTS,
    credential: "instance",
    idempotencyKey: true,
    success: [201, 200],
    errors: [400, 401, 403, 409, 429, 500, 503],
  },
  getApprovalRequest: {
    method: "GET",
    path: `${REQUESTS}/:id`,
    credential: "instance",
    idempotencyKey: false,
    success: [200],
    errors: [400, 401, 403, 404, 429, 500, 503],
  },
  cancelApprovalRequest: {
    method: "DELETE",
    path: `${REQUESTS}/:id`,
    credential: "instance",
    idempotencyKey: false,
    success: [200],
    errors: [401, 403, 404, 409, 429, 500, 503],
  },
} as const satisfies Record<string, Operation>;

/** The names of {@link OPERATIONS}. */
export type OperationName = keyof typeof OPERATIONS;
