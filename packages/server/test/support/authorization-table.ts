/**
 * Who may call what: every operation of both surfaces against every kind of caller, as data.
 *
 * To add an operation: a row in ROWS with one of the profiles. To add a kind of caller: its name in
 * CALLERS, its column in each profile, and how to come by it in authorization-callers.ts.
 * `test/authorization.test.ts` holds all of it against a server, and fails when a route has no row.
 */

import type { AuthorizationStage } from "./authorization-callers.ts";
import { SUBMISSION } from "./test-provider.ts";

/** Nobody, or somebody who was. */
const STRANGERS = ["nobody", "malformed", "unknown", "revoked", "expired", "removed"] as const;

const OTHER_KINDS = ["provisioner", "instance"] as const;

const ROLES = ["viewer", "reviewer", "editor", "auditor", "admin", "operator"] as const;

/** Tokens of an operator. */
const SCOPED = ["read", "decide", "decide:ops", "freeze", "policy", "people", "audit"] as const;

export const CALLERS = [
  ...STRANGERS,
  ...OTHER_KINDS,
  ...ROLES,
  ...SCOPED,
  /** An admin who signed in, as a page of ours sends it. */
  "signed-in",
  /** A token with all scopes that there are, of an operator. */
  "all-scopes",
  /** An admin that is a bot. */
  "bot",
  /** An admin of another project; for the contract, a provisioner or an instance of it. */
  "foreign",
] as const;

export type CallerName = (typeof CALLERS)[number];

/** Who reaches an operation, an admin who signed in among admins; others get 401 or 403. */
type Profile = readonly CallerName[];

const whoever = (...names: readonly CallerName[]): Profile =>
  names.includes("admin") ? [...names, "signed-in"] : names;

const LOOKING = whoever(...ROLES, "read", "all-scopes", "bot", "foreign");
const DECIDING = whoever("reviewer", "admin", "operator", "decide", "all-scopes", "bot", "foreign");
const FREEZING = whoever("reviewer", "admin", "operator", "freeze", "all-scopes", "bot", "foreign");
const PUBLISHING = whoever(
  ...(["editor", "admin", "operator", "policy", "all-scopes", "bot", "foreign"] as const),
);
const ADMINISTERING = whoever("admin", "operator", "people", "all-scopes", "bot", "foreign");
/** Not even a token with all scopes reaches the whole server. */
const OPERATING = whoever("operator");
const VOTING: Profile = [...DECIDING, "decide:ops"];
const EVERYBODY = CALLERS;

function without(profile: Profile, ...names: readonly CallerName[]): Profile {
  return profile.filter((name) => !names.includes(name));
}

export interface AuthorizationRow {
  readonly operation: string;
  /** Where one name is that of several routes. */
  readonly path?: string;
  /** What tells rows of one operation apart. */
  readonly about?: string;
  readonly who: Profile;
  /** What is answered to those who reach it. */
  readonly status: number;
  /** To the caller of another project; as to the others when it is not said. */
  readonly foreign?: number;
  /** In place of `:id` and `:number`. */
  readonly id?: (stage: AuthorizationStage) => string | Promise<string>;
  readonly body?: (stage: AuthorizationStage, id: string) => object | Promise<object>;
  /** Who is asked for: a reviewer when it is not said. */
  readonly kind?: "provisioner" | "instance" | "person" | "stranger" | "page";
  /** Puts back what the operation changed, so that the next caller finds the same. */
  readonly undo?: (stage: AuthorizationStage) => Promise<void>;
}

const EMPTY_POLICY = "version: 1\nrules: []\n";

const draft = () => ({ source: EMPTY_POLICY });

const REQUESTS: readonly AuthorizationRow[] = [
  { operation: "listRequests", who: LOOKING, status: 200 },
  {
    ...{ operation: "showRequest", who: LOOKING, status: 200, foreign: 404 },
    id: (stage) => stage.requestId,
  },
  {
    ...{ operation: "castVerdict", about: "approve", status: 200, foreign: 404 },
    who: without(VOTING, "bot"),
    id: (stage) => stage.freshRequest(),
    body: (stage) => ({ verdict: "approve", arguments_sha256: stage.argumentsSha256 }),
  },
  {
    ...{ operation: "castVerdict", about: "deny", who: VOTING, status: 200, foreign: 404 },
    id: (stage) => stage.freshRequest(),
    body: (stage) => ({ verdict: "deny", arguments_sha256: stage.argumentsSha256 }),
  },
  {
    // Of one's own vote, whatever became of the role.
    ...{ operation: "withdrawVote", status: 200, foreign: 404 },
    who: without([...LOOKING, "decide", "decide:ops"], "read"),
    id: (stage) => stage.requestId,
  },
];

const DELIVERIES: readonly AuthorizationRow[] = [
  { operation: "listDeliveries", who: LOOKING, status: 200 },
  { operation: "showDelivery", who: LOOKING, status: 404, id: (stage) => stage.requestId },
  { operation: "retryDelivery", who: DECIDING, status: 404, id: (stage) => stage.requestId },
  {
    ...{ operation: "retryDeliveries", who: DECIDING, status: 200, foreign: 404 },
    body: (stage) => ({ instance_id: stage.instanceId }),
  },
];

function policyRows(scope: "Policy" | "Floor"): readonly AuthorizationRow[] {
  const who = scope === "Policy" ? PUBLISHING : OPERATING;
  return [
    { operation: `show${scope}`, about: "in force", who: LOOKING, status: 200 },
    {
      ...{ operation: `show${scope}`, about: "by number", who: LOOKING, status: 200 },
      ...{ id: () => "1", ...(scope === "Policy" && { foreign: 404 }) },
    },
    { operation: `list${scope}Versions`, who: LOOKING, status: 200 },
    { operation: `check${scope}`, who, status: 200, body: draft },
    {
      // What it tells are calls.
      ...{ operation: `simulate${scope}`, who: without(who, "policy"), status: 200 },
      body: draft,
    },
    {
      ...{ operation: `publish${scope}`, who, status: 200, ...(scope === "Policy" && FOREIGN_NEW) },
      body: () => ({ ...draft(), expected_number: 0 }),
    },
    {
      ...{ operation: `rollback${scope}`, who, status: 200 },
      body: () => ({ number: 1, expected_number: 1 }),
    },
  ];
}

/** Of the other project it is the first version. */
const FOREIGN_NEW = { foreign: 201 };

const INSTANCES: readonly AuthorizationRow[] = [
  { operation: "listInstances", who: LOOKING, status: 200 },
  {
    ...{ operation: "showInstance", who: LOOKING, status: 200, foreign: 404 },
    id: (stage) => stage.instanceId,
  },
  {
    ...{ operation: "groupInstance", who: PUBLISHING, status: 200, foreign: 404 },
    id: (stage) => stage.instanceId,
    body: () => ({ groups: [] }),
  },
];

const FREEZES: readonly AuthorizationRow[] = [
  { operation: "listFreezes", who: LOOKING, status: 200 },
  {
    ...{ operation: "freezeCalls", about: "an instance", who: FREEZING, status: 201, foreign: 404 },
    body: (stage) => ({ scope: "instance", instance_id: stage.otherInstanceId }),
    undo: (stage) => stage.liftAll(),
  },
  {
    ...{ operation: "freezeCalls", about: "the server", who: OPERATING, status: 201 },
    body: () => ({ scope: "server" }),
    undo: (stage) => stage.liftAll(),
  },
  {
    ...{ operation: "liftFreeze", about: "of an instance", who: FREEZING, status: 200 },
    ...{ foreign: 404, id: (stage) => stage.freshFreeze("instance") },
    undo: (stage) => stage.liftAll(),
  },
  {
    ...{ operation: "liftFreeze", about: "of the server", who: OPERATING, status: 200 },
    id: (stage) => stage.freshFreeze("server"),
    undo: (stage) => stage.liftAll(),
  },
];

const GRANTS: readonly AuthorizationRow[] = [
  { operation: "listGrants", who: LOOKING, status: 200 },
  {
    ...{ operation: "showGrant", who: LOOKING, status: 200, foreign: 404 },
    id: (stage) => stage.grantId,
  },
  {
    ...{ operation: "createGrant", who: DECIDING, status: 201, foreign: 404 },
    body: (stage) => ({ instance_id: stage.otherInstanceId, tool: "nothing" }),
  },
  {
    ...{ operation: "revokeGrant", about: "of somebody else", status: 200, foreign: 404 },
    who: [...FREEZING, "editor", "policy"],
    id: (stage) => stage.grantId,
  },
];

const PEOPLE: readonly AuthorizationRow[] = [
  { operation: "listReviewers", who: LOOKING, status: 200 },
  {
    ...{ operation: "showReviewer", who: LOOKING, status: 200, foreign: 404 },
    id: (stage) => stage.bystanderId,
  },
  { operation: "listGroups", who: LOOKING, status: 200 },
  {
    ...{ operation: "changeReviewer", who: ADMINISTERING, status: 200, foreign: 404 },
    id: (stage) => stage.bystanderId,
    body: () => ({ role: "viewer" }),
  },
  {
    ...{ operation: "changeReviewer", about: "into an operator", status: 200 },
    ...{ who: whoever("operator", "foreign"), foreign: 404 },
    ...{ id: (stage) => stage.freshReviewer() },
    body: () => ({ role: "operator" }),
  },
  {
    ...{ operation: "removeReviewer", who: ADMINISTERING, status: 204, foreign: 404 },
    id: (stage) => stage.freshReviewer(),
  },
  { operation: "listTokens", who: ADMINISTERING, status: 200 },
  {
    ...{ operation: "issueToken", who: ADMINISTERING, status: 201 },
    body: (stage) => ({ name: stage.freshName(), role: "viewer", scopes: ["people"] }),
  },
  {
    ...{ operation: "issueToken", about: "that reads", status: 201 },
    who: without(ADMINISTERING, "people"),
    body: (stage) => ({ name: stage.freshName(), role: "viewer", scopes: ["read"] }),
  },
  {
    ...{ operation: "revokeToken", who: ADMINISTERING, status: 204, foreign: 404 },
    id: (stage) => stage.freshToken(),
  },
];

const INVITING = without(ADMINISTERING, "bot");

const INVITATIONS: readonly AuthorizationRow[] = [
  { operation: "listInvitations", who: ADMINISTERING, status: 200 },
  {
    ...{ operation: "createInvitation", who: without(INVITING, "people"), status: 201 },
    body: (stage) => ({ name: stage.freshName(), role: "viewer" }),
  },
  {
    ...{ operation: "revokeInvitation", who: ADMINISTERING, status: 404 },
    id: (stage) => stage.requestId,
  },
];

const CHANNELS: readonly AuthorizationRow[] = [
  { operation: "listChannels", who: LOOKING, status: 200 },
  {
    ...{ operation: "createChannel", who: ADMINISTERING, status: 201 },
    body: (stage) => ({
      ...{ name: stage.freshName().replace(" ", "-"), kind: "ntfy" },
      url: "https://ntfy.example.com/topic",
    }),
    undo: (stage) => stage.deleteChannels(),
  },
  {
    ...{ operation: "updateChannel", who: ADMINISTERING, status: 404 },
    ...{ id: (stage) => stage.requestId, body: () => ({ disabled: true }) },
  },
  {
    ...{ operation: "deleteChannel", who: ADMINISTERING, status: 404 },
    id: (stage) => stage.requestId,
  },
  {
    ...{ operation: "testChannel", who: ADMINISTERING, status: 404 },
    id: (stage) => stage.requestId,
  },
];

/** Of persons alone: a token is refused, whatever it may. */
const PERSONS: readonly AuthorizationRow[] = (
  [
    { operation: "showSession", status: 200 },
    { operation: "endSession", about: "one's own", status: 200, undo: (stage) => stage.signIn() },
    {
      ...{ operation: "endSession", about: "another one", status: 404 },
      id: (stage) => stage.requestId,
    },
    {
      ...{ operation: "switchProject", status: 404 },
      body: () => ({ project_id: "0123456789abcdef" }),
    },
    { operation: "showAccount", status: 200 },
    { operation: "changePassword", status: 400, body: () => ({}) },
    { operation: "joinProject", status: 400, body: () => ({}) },
  ] as const satisfies readonly Omit<AuthorizationRow, "who">[]
).map((row) => ({ ...row, who: ["signed-in"], kind: "person" }));

/** For those who are nobody yet; the body says nothing here, and that is what they are told. */
const STRANGE: readonly AuthorizationRow[] = ["signIn", "openInvitation", "useInvitation"].map(
  (operation) => ({
    ...{ operation, who: EVERYBODY, status: 400, kind: "stranger" as const },
    body: () => ({}),
  }),
);

/** They hold nothing that is anybody's. */
const PAGES: readonly AuthorizationRow[] = [
  ...["/sign-in", "/invitation", "/account"],
  ...["pages.css", "mark.svg", "page.js", "sign-in.js", "invitation.js", "account.js"].map(
    (name) => `/pages/${name}`,
  ),
  "/setup",
].map((path) => ({
  ...{ operation: "page", path, about: path, who: EVERYBODY, kind: "page" as const },
  status: path === "/setup" ? 404 : 200,
}));

const BY_PROVISIONERS = whoever("provisioner", "foreign");
const BY_INSTANCES = whoever("instance", "foreign");

const OF_PROVISIONERS: readonly AuthorizationRow[] = [
  { operation: "provisionInstance", who: BY_PROVISIONERS, status: 201, body: () => ({}) },
  {
    ...{ operation: "getInstance", who: BY_PROVISIONERS, status: 200, foreign: 404 },
    id: (stage) => stage.instanceId,
  },
  {
    ...{ operation: "updateInstance", who: BY_PROVISIONERS, status: 200, foreign: 404 },
    ...{ id: (stage) => stage.instanceId, body: () => ({ instance_name: "renamed" }) },
  },
  {
    ...{ operation: "deleteInstance", who: BY_PROVISIONERS, status: 204, foreign: 404 },
    id: (stage) => stage.freshInstance(),
  },
];

const OF_INSTANCES: readonly AuthorizationRow[] = [
  { operation: "createApprovalRequest", who: BY_INSTANCES, status: 201, body: () => SUBMISSION },
  {
    ...{ operation: "getApprovalRequest", who: BY_INSTANCES, status: 200, foreign: 404 },
    id: (stage) => stage.requestId,
  },
  {
    ...{ operation: "cancelApprovalRequest", who: BY_INSTANCES, status: 200, foreign: 404 },
    id: (stage) => stage.freshRequest(),
  },
];

const CONTRACT: readonly AuthorizationRow[] = [
  ...OF_PROVISIONERS.map((row) => ({ ...row, kind: "provisioner" as const })),
  ...OF_INSTANCES.map((row) => ({ ...row, kind: "instance" as const })),
];

/** For probes and whoever else: they tell nothing of anybody. */
const OPERATIONAL: readonly AuthorizationRow[] = ["healthz", "readyz", "metrics", "openapi"].map(
  (operation) => ({ operation, who: EVERYBODY, status: 200 }),
);

export const ROWS: readonly AuthorizationRow[] = [
  ...REQUESTS,
  ...DELIVERIES,
  ...policyRows("Policy"),
  ...policyRows("Floor"),
  ...INSTANCES,
  ...FREEZES,
  ...GRANTS,
  ...PEOPLE,
  ...INVITATIONS,
  ...CHANNELS,
  ...PERSONS,
  ...STRANGE,
  ...PAGES,
  ...CONTRACT,
  ...OPERATIONAL,
];

/** Which credential it is that a caller of another project has. */
export function foreignKind({ kind }: AuthorizationRow): "provisioner" | "instance" | "reviewer" {
  return kind === "provisioner" || kind === "instance" ? kind : "reviewer";
}

/** What is answered to a caller. */
export function expectedStatus(row: AuthorizationRow, caller: CallerName): number {
  if (row.who.includes(caller)) {
    return caller === "foreign" ? (row.foreign ?? row.status) : row.status;
  }
  // Beside a header that says who calls, nobody looks at a session, and the other way round.
  if (row.kind === "person") return caller === "nobody" ? 401 : 403;
  const isStranger = STRANGERS.some((name) => name === caller);
  const isNobodyHere = caller === "signed-in" && foreignKind(row) !== "reviewer";
  return isStranger || isNobodyHere ? 401 : 403;
}
