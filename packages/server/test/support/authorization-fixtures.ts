/**
 * Facts that the tables of the two APIs cannot state about their operations, for the authorization
 * matrix: a valid path and body, the status where several are possible, and exceptions from the
 * power of the row. The compiler requires an entry for each operation that needs one.
 */

import type { AgentOperationName, OperationName } from "@countersign/protocol";
import type {
  BodySent,
  Operation,
  Power,
  ReviewOperationName,
  ReviewOperations,
} from "@countersign/review-api";
import type { AuthorizationStage } from "./authorization-callers.ts";
import { HOLDERS, type Profile } from "./authorization-profiles.ts";
import { SUBMISSION } from "./test-provider.ts";

export interface AnyFixture {
  /** Distinguishes entries of one operation. */
  readonly about?: string;
  /** Instead of the status of the row. */
  readonly status?: number;
  /** For the caller of another project: by default 404 with a parameter in the path. */
  readonly foreign?: number;
  readonly query?: string;
  readonly exception?: {
    readonly because: string;
    /** Instead of the power of the row. */
    readonly power?: Power;
    readonly also?: Profile;
    readonly not?: Profile;
  };
  /** Restores what the operation changed, for the next caller. */
  readonly undo?: (stage: AuthorizationStage) => Promise<void>;
  readonly id?: (stage: AuthorizationStage) => string | Promise<string>;
  readonly body?: (stage: AuthorizationStage) => object | undefined;
}

type IdOf<Row extends Operation> = Row["path"] extends `${string}{id}${string}`
  ? { readonly id: (stage: AuthorizationStage) => string | Promise<string> }
  : { readonly id?: never };

type BodyOf<Row extends Operation> =
  BodySent<Row> extends undefined
    ? { readonly body?: never }
    : { readonly body: (stage: AuthorizationStage) => BodySent<Row> };

type FixtureOf<Row extends Operation> = Omit<AnyFixture, "id" | "body"> & IdOf<Row> & BodyOf<Row>;

/** The server checks the path and the body of these. */
type Needing = {
  [Name in ReviewOperationName]: ReviewOperations[Name]["caller"] extends "reviewer"
    ? object extends FixtureOf<ReviewOperations[Name]>
      ? never
      : Name
    : never;
}[ReviewOperationName];

type FixturesOf<Name extends ReviewOperationName> = {
  readonly [Each in Name]:
    | FixtureOf<ReviewOperations[Each]>
    | readonly FixtureOf<ReviewOperations[Each]>[];
};

const EMPTY_POLICY = "version: 1\nrules: []\n";

const DRAFT = { body: () => ({ source: EMPTY_POLICY }) };
const PUBLISHED = {
  status: 200,
  body: () => ({ source: EMPTY_POLICY, expected_number: 0 }),
};
const ROLLED_BACK = { status: 200, body: () => ({ number: 1, expected_number: 1 }) };
const PROPOSED = {
  status: 201,
  body: (stage: AuthorizationStage) => ({
    source: `${EMPTY_POLICY}# ${stage.freshName()}`,
    expected_number: 1,
  }),
};

const ofPolicy = { id: (stage: AuthorizationStage) => stage.freshProposal("Policy") };
const ofFloor = { id: (stage: AuthorizationStage) => stage.freshProposal("Floor") };

const request = { id: (stage: AuthorizationStage) => stage.requestId };
const pending = { id: (stage: AuthorizationStage) => stage.freshRequest() };
const instance = { id: (stage: AuthorizationStage) => stage.instanceId };
const grant = { id: (stage: AuthorizationStage) => stage.grantId };
const bystander = { id: (stage: AuthorizationStage) => stage.bystanderId };
const channel = { id: (stage: AuthorizationStage) => stage.channelId };

const liftAll = (stage: AuthorizationStage) => stage.liftAll();

const ANNOUNCES = {
  because: "messages contain calls, so the token must allow reading",
  not: ["people"],
} as const;

const INVITES = {
  because: "the user of a bot's invitation would count as a person, and can read",
  not: ["people", "bot"],
} as const;

const OWN_VOTE = {
  because: "it is the caller's own vote, whatever their role has become",
  also: ["viewer", "editor", "auditor", "decide:ops"],
} as const;

const OF_THE_SERVER = { because: "the freeze covers the server", power: "server" } as const;

const CANNOT_READ = {
  because: "the answer contains calls, so the token must allow reading",
  not: ["policy"],
} as const;

const absenceBody = () => {
  const until = new Date(Date.now() + 60_000).toISOString();
  return { from: new Date().toISOString(), until };
};

export const FIXTURES: FixturesOf<Needing> & Partial<FixturesOf<ReviewOperationName>> = {
  showRequest: request,
  showBackground: request,
  showAgentSession: request,
  castVerdict: [
    {
      about: "approve",
      exception: {
        because: "a token for the group can vote; the policy does not admit bots",
        also: ["decide:ops"],
        not: ["bot"],
      },
      ...pending,
      body: (stage) => ({ verdict: "approve", arguments_sha256: stage.argumentsSha256 }),
    },
    {
      about: "deny",
      exception: { because: "a token for the group can vote", also: ["decide:ops"] },
      ...pending,
      body: (stage) => ({ verdict: "deny", arguments_sha256: stage.argumentsSha256 }),
    },
  ],
  challengeVerdict: {
    ...request,
    exception: { because: "a token cannot sign", not: HOLDERS.decide },
    body: (stage) => ({ verdict: "approve", arguments_sha256: stage.argumentsSha256 }),
  },
  takeBackVerdict: { ...pending, exception: OWN_VOTE },
  claimRequest: {
    ...pending,
    exception: { because: "a token for the group can vote", also: ["decide:ops"] },
    body: () => ({}),
  },
  listComments: request,
  addComment: {
    ...request,
    status: 201,
    exception: { because: "a token for the group can vote", also: ["decide:ops"] },
    body: () => ({ text: "Is this the right target?" }),
  },
  handOverClaim: {
    ...pending,
    // The bystander may not decide the request.
    status: 400,
    exception: { because: "a token for the group can vote", also: ["decide:ops"] },
    body: (stage) => ({ reviewer_id: stage.bystanderId }),
  },
  releaseClaim: { ...pending, exception: OWN_VOTE },
  withdrawVote: { ...pending, exception: OWN_VOTE },

  exportHistory: { query: "?format=csv" },
  searchRequests: { query: "?q=deploy" },

  // There is no delivery.
  showDelivery: { ...request, status: 404 },
  retryDelivery: { ...request, status: 404 },
  retryDeliveries: { foreign: 404, body: (stage) => ({ instance_id: stage.instanceId }) },

  showInstance: instance,
  groupInstance: { ...instance, status: 200, body: () => ({ groups: [] }) },
  createInstance: { body: () => ({}) },
  removeInstance: { id: (stage) => stage.freshInstance() },
  rotateCredential: { id: (stage) => stage.freshInstance(), body: () => ({}) },
  renameInstance: { id: (stage) => stage.freshInstance(), body: () => ({ name: "other" }) },
  // Not a public address: the server sends nothing there.
  setReceiver: {
    id: (stage) => stage.freshInstance(),
    status: 400,
    body: () => ({
      url: "https://192.0.2.1/a",
      registration_id: "5f6c1c0e-7a0e-4b9e-9d43-0f9a8f1f1c11",
      signing_secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    }),
  },
  removeReceiver: instance,
  // There is no receiver.
  testReceiver: { ...instance, status: 404 },

  freezeCalls: [
    {
      about: "an instance",
      status: 201,
      foreign: 404,
      body: (stage) => ({ scope: "instance", instance_id: stage.otherInstanceId }),
      undo: liftAll,
    },
    {
      about: "the server",
      status: 201,
      exception: OF_THE_SERVER,
      body: () => ({ scope: "server" }),
      undo: liftAll,
    },
  ],
  liftFreeze: [
    { about: "of an instance", id: (stage) => stage.freshFreeze("instance"), undo: liftAll },
    {
      about: "of the server",
      exception: OF_THE_SERVER,
      id: (stage) => stage.freshFreeze("server"),
      undo: liftAll,
    },
  ],

  showGrant: grant,
  previewGrant: {
    exception: {
      because: "the answer contains calls, so the token must allow reading",
      not: ["decide"],
    },
    foreign: 404,
    body: (stage) => ({ instance_id: stage.otherInstanceId, tool: "nothing" }),
  },
  createGrant: {
    status: 201,
    foreign: 404,
    body: (stage) => ({ instance_id: stage.otherInstanceId, tool: "nothing" }),
  },
  revokeGrant: {
    ...grant,
    about: "of another reviewer",
    exception: {
      because: "it restricts calls, as a freeze or a policy does, and only its creator decided",
      also: ["freeze", "editor", "policy"],
      not: ["decide"],
    },
  },

  setAbsence: {
    exception: { because: "bots cannot be absent", not: ["bot"] },
    body: absenceBody,
  },
  setReviewerAbsence: { ...bystander, body: absenceBody },
  endReviewerAbsence: bystander,
  showReviewer: bystander,
  changeReviewer: [
    { ...bystander, body: () => ({ role: "viewer" }) },
    {
      about: "into an operator",
      exception: {
        because: "a caller cannot grant a power that it lacks; elsewhere the reviewer is not found",
        power: "server",
        also: ["foreign"],
      },
      id: (stage) => stage.freshReviewer(),
      body: () => ({ role: "operator" }),
    },
  ],
  removeReviewer: { id: (stage) => stage.freshReviewer() },
  issueToken: [
    { body: (stage) => ({ name: stage.freshName(), role: "viewer", scopes: ["people"] }) },
    {
      about: "that reads",
      exception: { because: "a caller cannot grant a power that it lacks", not: ["people"] },
      body: (stage) => ({ name: stage.freshName(), role: "viewer", scopes: ["read"] }),
    },
    {
      about: "for a provisioner",
      body: (stage) => ({ kind: "provisioner", name: stage.freshName() }),
    },
  ],
  revokeToken: { id: (stage) => stage.freshToken() },
  createInvitation: [
    { exception: INVITES, body: (stage) => ({ name: stage.freshName(), role: "viewer" }) },
    {
      about: "for a reviewer",
      exception: INVITES,
      body: (stage) => ({ name: stage.freshName(), role: "reviewer" }),
    },
  ],
  // There is no invitation.
  revokeInvitation: { ...request, status: 404 },

  createChannel: {
    exception: ANNOUNCES,
    // Not a public address: the server sends nothing there.
    body: (stage) => ({ name: stage.freshName(), kind: "slack", url: "https://192.0.2.1/a" }),
  },
  updateChannel: { ...channel, exception: ANNOUNCES, body: () => ({ groups: [] }) },
  testChannel: channel,
  writeSchedule: {
    body: () => ({
      name: "payments",
      source: {
        kind: "static",
        reviewers: ["ana"],
        starts_at: "2026-01-05T09:00:00Z",
        days: 7,
        time_zone: "UTC",
      },
    }),
  },
  // There is no schedule with this id.
  deleteSchedule: { ...request, status: 404 },
  createChatCode: {
    status: 201,
    exception: { because: "a token cannot link an account", not: HOLDERS.decide },
  },
  // There is no link.
  deleteChatLink: {
    ...request,
    status: 404,
    exception: {
      because: "reviewers unlink their own accounts, and callers who manage people unlink any",
      also: ["people", "decide:ops"],
    },
  },
  deleteChannel: { id: (stage) => stage.freshChannel() },

  // The log is not sealed.
  showCheckpoint: { status: 404 },
  exportAuditLog: { status: 404 },
  verifyAuditLog: { status: 404 },
  proveAuditEntry: { ...request, status: 404 },

  // It would be the first version of the other project.
  publishPolicy: { ...PUBLISHED, foreign: 201 },
  rollbackPolicy: ROLLED_BACK,
  showPolicyUsage: {},
  checkPolicy: {
    ...DRAFT,
    exception: { because: "the publisher of a policy can check it", also: ["policy"] },
  },
  simulatePolicy: { ...DRAFT, exception: CANNOT_READ },
  suggestRules: { exception: CANNOT_READ },
  proposePolicy: PROPOSED,
  showPolicyProposal: ofPolicy,
  publishPolicyProposal: {
    ...ofPolicy,
    status: 201,
    undo: (stage) => stage.unpublish("Policy"),
  },
  rejectPolicyProposal: { ...ofPolicy, body: () => ({}) },

  // The baseline policy is the same for all projects.
  showFloorVersion: { foreign: 200 },
  showFloorProposal: { ...ofFloor, foreign: 200 },
  publishFloor: PUBLISHED,
  rollbackFloor: ROLLED_BACK,
  checkFloor: DRAFT,
  simulateFloor: DRAFT,
  proposeFloor: PROPOSED,
  publishFloorProposal: { ...ofFloor, status: 201, undo: (stage) => stage.unpublish("Floor") },
  rejectFloorProposal: { ...ofFloor, body: () => ({}) },

  // This server has no identity provider.
  beginOidcSignIn: { status: 404 },
  completeOidcSignIn: { status: 404 },
};

type ContractFixture = Omit<AnyFixture, "about" | "foreign" | "exception" | "undo">;

/** The contract, its extensions and the agent surface. The credential determines the callers. */
export const CONTRACT_FIXTURES: Readonly<
  Record<AgentOperationName | OperationName, ContractFixture>
> = {
  provisionInstance: { body: () => ({}) },
  getInstance: instance,
  updateInstance: { ...instance, body: () => ({ instance_name: "renamed" }) },
  deleteInstance: { id: (stage) => stage.freshInstance() },
  createApprovalRequest: { body: () => SUBMISSION },
  getApprovalRequest: request,
  cancelApprovalRequest: pending,
  // The request is pending.
  consumeApproval: { ...pending, status: 409 },
  consumeAgentApproval: { ...pending, status: 409 },
  reportOutcome: { ...pending, status: 409, body: () => ({ status: "succeeded" }) },
};
