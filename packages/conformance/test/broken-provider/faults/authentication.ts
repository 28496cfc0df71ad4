/**
 * Faults of who may do what.
 */

import { answering, CORRECT, type Fault, memberOf } from "./fault.ts";

const SECTION = "Authentication, 2";

const CREDENTIALS: readonly Fault[] = [
  {
    id: "token-in-query",
    section: "Authentication, 1",
    breaks: ["auth.bearer"],
    sentence: "A token in the query is accepted as well.",
    plant: {
      token: (headers, query) =>
        CORRECT.token(headers, query) ?? query.get("access_token") ?? undefined,
    },
  },
  {
    id: "any-scheme",
    section: "Authentication, 1",
    breaks: ["auth.bearer"],
    sentence: "The token is accepted behind any scheme, or behind none.",
    plant: { token: ({ authorization }) => authorization?.split(" ").at(-1) },
  },
  {
    id: "missing-is-403",
    section: "Authentication, 4",
    breaks: ["auth.missing"],
    sentence: "Without a credential the answer is 403.",
    plant: answering(
      ({ token }, { status }) => status === 401 && token === undefined,
      () => ({ status: 403 }),
    ),
  },
  {
    id: "unknown-credential-is-403",
    section: "Authentication, 4",
    breaks: ["auth.invalid"],
    sentence: "An unknown credential returns 403.",
    plant: answering(
      ({ token }, { status }) => status === 401 && token !== undefined,
      () => ({ status: 403 }),
    ),
  },
  {
    id: "revoked-reads",
    section: "Authentication, 4",
    breaks: ["auth.revoked", "instance.delete.credentials-revoked", "request.retention.no-access"],
    sentence: "The credential of a deleted instance still works.",
    plant: { isValidCredential: () => true },
  },
  {
    id: "expired-works",
    section: "Authentication, 4",
    breaks: ["auth.expired"],
    sentence: "A credential works after its `expires_at`.",
    plant: { isValidCredential: ({ isRevoked }) => !isRevoked },
    options: { credentialMs: 2_000 },
  },
];

const KINDS: readonly Fault[] = [
  {
    id: "provisioner-submits",
    section: SECTION,
    breaks: ["auth.provisioner.not-requests"],
    sentence: "A provisioner token opens requests.",
    plant: {
      permits: (caller, operation) =>
        operation === "createApprovalRequest" || CORRECT.permits(caller, operation),
    },
  },
  {
    id: "provisioner-reads-requests",
    section: SECTION,
    breaks: ["auth.provisioner.not-requests"],
    sentence: "A provisioner token reads any request.",
    plant: {
      permits: (caller, operation) =>
        operation === "getApprovalRequest" || CORRECT.permits(caller, operation),
      reachesRequest: () => true,
    },
  },
  {
    id: "wrong-kind-is-401",
    section: "Authentication, 4",
    breaks: ["auth.provisioner.not-requests", "auth.instance.not-instances"],
    sentence: "A credential of the wrong kind is a 401.",
    plant: answering(
      ({ problem }) => problem?.code === "wrong_credential_kind",
      () => ({ status: 401 }),
    ),
  },
  {
    id: "instance-provisions",
    section: "Endpoints, POST /v1/instances",
    breaks: ["auth.instance.not-instances"],
    sentence: "An instance credential provisions instances.",
    plant: {
      permits: (caller, operation) =>
        operation === "provisionInstance" || CORRECT.permits(caller, operation),
    },
  },
  {
    id: "instance-reads-itself",
    section: SECTION,
    breaks: ["auth.instance.not-instances"],
    sentence: "An instance credential reads its own instance.",
    plant: {
      permits: (caller, operation) =>
        operation === "getInstance" || CORRECT.permits(caller, operation),
      reachesInstance: (caller, instance) =>
        caller.kind === "instance"
          ? caller.instance === instance
          : CORRECT.reachesInstance(caller, instance),
    },
  },
  {
    id: "instance-deletes-itself",
    section: SECTION,
    breaks: ["auth.instance.not-instances"],
    sentence: "An instance credential deletes its own instance.",
    plant: {
      permits: (caller, operation) =>
        operation === "deleteInstance" || CORRECT.permits(caller, operation),
      reachesInstance: (caller, instance) =>
        caller.kind === "instance"
          ? caller.instance === instance
          : CORRECT.reachesInstance(caller, instance),
    },
  },
];

const REACH: readonly Fault[] = [
  {
    id: "provisioner-without-scope",
    section: SECTION,
    breaks: ["auth.provisioner.scope"],
    sentence: "A provisioner token reaches the instances of every scope.",
    plant: { reachesInstance: () => true },
  },
  {
    id: "cross-instance-read",
    section: SECTION,
    breaks: ["auth.instance.own-requests"],
    sentence: "An instance reads the requests of other instances.",
    plant: {
      reachesRequest: (caller, request, isCancel) =>
        !isCancel || CORRECT.reachesRequest(caller, request, isCancel),
    },
  },
  {
    id: "cross-instance-cancel",
    section: "Endpoints, DELETE /v1/requests/{id}",
    breaks: ["request.cancel.creator-only", "auth.instance.own-requests"],
    sentence: "An instance cancels the requests of other instances.",
    plant: {
      reachesRequest: (caller, request, isCancel) =>
        isCancel || CORRECT.reachesRequest(caller, request, isCancel),
    },
  },
  {
    id: "identity-from-context",
    section: "Resources, Scalar formats",
    breaks: ["scalar.context.identity", "auth.instance.identity"],
    sentence: "A context that names an instance makes it that instance's request.",
    plant: {
      owner: (caller, body, ledger) => {
        const context = memberOf(body, "context");
        const named = context && memberOf(context, "instance_id");
        return ledger.instances.get(String(named)) ?? caller;
      },
    },
  },
];

export const AUTHENTICATION_FAULTS: readonly Fault[] = [...CREDENTIALS, ...KINDS, ...REACH];
