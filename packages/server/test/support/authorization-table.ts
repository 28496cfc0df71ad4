/**
 * Who may call what: every operation of both surfaces against every kind of caller, as data.
 *
 * To add an operation: a row in ROWS with one of the profiles. `test/authorization.test.ts` holds
 * all of it against a server, and fails when a route has no row.
 */

import type { AuthorizationStage } from "./authorization-callers.ts";
import { EXTENSION_ROWS } from "./authorization-extensions.ts";
import { policyRows } from "./authorization-policies.ts";
import {
  ADMINISTERING,
  AUDITING,
  type AuthorizationRow,
  DECIDING,
  EVERYBODY,
  FREEZING,
  LOOKING,
  OPERATING,
  PUBLISHING,
  VOTING,
  whoever,
  without,
} from "./authorization-profiles.ts";
import { SUBMISSION } from "./test-provider.ts";

const REQUESTS: readonly AuthorizationRow[] = [
  { operation: "listRequests", who: LOOKING, status: 200 },
  { operation: "followEvents", who: LOOKING, status: 200 },
  {
    operation: "showBackground",
    who: LOOKING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.requestId,
  },
  {
    operation: "showRequest",
    who: LOOKING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.requestId,
  },
  {
    operation: "castVerdict",
    about: "approve",
    status: 200,
    foreign: 404,
    who: without(VOTING, "bot"),
    id: (stage) => stage.freshRequest(),
    body: (stage) => ({ verdict: "approve", arguments_sha256: stage.argumentsSha256 }),
  },
  {
    operation: "castVerdict",
    about: "deny",
    who: VOTING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.freshRequest(),
    body: (stage) => ({ verdict: "deny", arguments_sha256: stage.argumentsSha256 }),
  },
  {
    // As with one's own vote.
    operation: "takeBackVerdict",
    status: 200,
    foreign: 404,
    who: without(whoever(...LOOKING, "decide", "decide:ops"), "read"),
    id: (stage) => stage.requestId,
  },
  {
    // Of one's own vote, whatever became of the role.
    operation: "withdrawVote",
    status: 200,
    foreign: 404,
    who: without(whoever(...LOOKING, "decide", "decide:ops"), "read"),
    id: (stage) => stage.requestId,
  },
];

const HISTORY: readonly AuthorizationRow[] = [
  { operation: "listHistory", who: LOOKING, status: 200 },
  { operation: "summarizeHistory", who: LOOKING, status: 200 },
  // It takes a format, which is asked for behind who may.
  { operation: "exportHistory", who: LOOKING, status: 400 },
];

const DELIVERIES: readonly AuthorizationRow[] = [
  { operation: "listDeliveries", who: LOOKING, status: 200 },
  { operation: "showDelivery", who: LOOKING, status: 404, id: (stage) => stage.requestId },
  { operation: "retryDelivery", who: DECIDING, status: 404, id: (stage) => stage.requestId },
  {
    operation: "retryDeliveries",
    who: DECIDING,
    status: 200,
    foreign: 404,
    body: (stage) => ({ instance_id: stage.instanceId }),
  },
];

const INSTANCES: readonly AuthorizationRow[] = [
  { operation: "listInstances", who: LOOKING, status: 200 },
  {
    operation: "showInstance",
    who: LOOKING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.instanceId,
  },
  {
    operation: "groupInstance",
    who: PUBLISHING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.instanceId,
    body: () => ({ groups: [] }),
  },
  {
    // It answers the instance as those see it who may look.
    operation: "createInstance",
    who: ADMINISTERING,
    status: 201,
    body: () => ({}),
  },
  {
    operation: "removeInstance",
    who: ADMINISTERING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.freshInstance(),
  },
];

const FREEZES: readonly AuthorizationRow[] = [
  { operation: "listFreezes", who: LOOKING, status: 200 },
  {
    operation: "freezeCalls",
    about: "an instance",
    who: FREEZING,
    status: 201,
    foreign: 404,
    body: (stage) => ({ scope: "instance", instance_id: stage.otherInstanceId }),
    undo: (stage) => stage.liftAll(),
  },
  {
    operation: "freezeCalls",
    about: "the server",
    who: OPERATING,
    status: 201,
    body: () => ({ scope: "server" }),
    undo: (stage) => stage.liftAll(),
  },
  {
    operation: "liftFreeze",
    about: "of an instance",
    who: FREEZING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.freshFreeze("instance"),
    undo: (stage) => stage.liftAll(),
  },
  {
    operation: "liftFreeze",
    about: "of the server",
    who: OPERATING,
    status: 200,
    id: (stage) => stage.freshFreeze("server"),
    undo: (stage) => stage.liftAll(),
  },
];

const GRANTS: readonly AuthorizationRow[] = [
  { operation: "listGrants", who: LOOKING, status: 200 },
  {
    operation: "showGrant",
    who: LOOKING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.grantId,
  },
  {
    operation: "createGrant",
    who: DECIDING,
    status: 201,
    foreign: 404,
    body: (stage) => ({ instance_id: stage.otherInstanceId, tool: "nothing" }),
  },
  {
    operation: "revokeGrant",
    about: "of somebody else",
    status: 200,
    foreign: 404,
    who: whoever(...FREEZING, "editor", "policy"),
    id: (stage) => stage.grantId,
  },
];

const PEOPLE: readonly AuthorizationRow[] = [
  { operation: "listReviewers", who: LOOKING, status: 200 },
  {
    operation: "showReviewer",
    who: LOOKING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.bystanderId,
  },
  { operation: "listGroups", who: LOOKING, status: 200 },
  {
    operation: "changeReviewer",
    who: ADMINISTERING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.bystanderId,
    body: () => ({ role: "viewer" }),
  },
  {
    operation: "changeReviewer",
    about: "into an operator",
    status: 200,
    who: whoever("operator", "foreign"),
    foreign: 404,
    id: (stage) => stage.freshReviewer(),
    body: () => ({ role: "operator" }),
  },
  {
    operation: "removeReviewer",
    who: ADMINISTERING,
    status: 204,
    foreign: 404,
    id: (stage) => stage.freshReviewer(),
  },
  { operation: "listTokens", who: ADMINISTERING, status: 200 },
  {
    operation: "issueToken",
    who: ADMINISTERING,
    status: 201,
    body: (stage) => ({ name: stage.freshName(), role: "viewer", scopes: ["people"] }),
  },
  {
    operation: "issueToken",
    about: "that reads",
    status: 201,
    who: without(ADMINISTERING, "people"),
    body: (stage) => ({ name: stage.freshName(), role: "viewer", scopes: ["read"] }),
  },
  {
    operation: "revokeToken",
    who: ADMINISTERING,
    status: 204,
    foreign: 404,
    id: (stage) => stage.freshToken(),
  },
];

/** Messages tell of calls: who leads them somewhere must be allowed to look. */
const LEADING = without(ADMINISTERING, "people");

const CHANNELS: readonly AuthorizationRow[] = [
  { operation: "listChannels", who: LOOKING, status: 200 },
  {
    operation: "createChannel",
    who: LEADING,
    status: 201,
    // Nothing is sent there: it is not public.
    body: (stage) => ({ name: stage.freshName(), kind: "slack", url: "https://192.0.2.1/a" }),
  },
  {
    operation: "updateChannel",
    who: LEADING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.channelId,
    body: () => ({ groups: [] }),
  },
  {
    operation: "testChannel",
    who: ADMINISTERING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.channelId,
  },
  {
    operation: "deleteChannel",
    who: ADMINISTERING,
    status: 200,
    foreign: 404,
    id: (stage) => stage.freshChannel(),
  },
];

const BY_PROVISIONERS = whoever("provisioner", "foreign");
const BY_INSTANCES = whoever("instance", "foreign");

const CONTRACT: readonly AuthorizationRow[] = [
  { operation: "provisionInstance", who: BY_PROVISIONERS, status: 201, body: () => ({}) },
  {
    operation: "getInstance",
    who: BY_PROVISIONERS,
    status: 200,
    foreign: 404,
    id: (stage) => stage.instanceId,
  },
  {
    operation: "updateInstance",
    who: BY_PROVISIONERS,
    status: 200,
    foreign: 404,
    id: (stage) => stage.instanceId,
    body: () => ({ instance_name: "renamed" }),
  },
  {
    operation: "deleteInstance",
    who: BY_PROVISIONERS,
    status: 204,
    foreign: 404,
    id: (stage) => stage.freshInstance(),
  },
  { operation: "createApprovalRequest", who: BY_INSTANCES, status: 201, body: () => SUBMISSION },
  {
    operation: "getApprovalRequest",
    who: BY_INSTANCES,
    status: 200,
    foreign: 404,
    id: (stage) => stage.requestId,
  },
  {
    operation: "cancelApprovalRequest",
    who: BY_INSTANCES,
    status: 200,
    foreign: 404,
    id: (stage) => stage.freshRequest(),
  },
  ...EXTENSION_ROWS,
];

/** For people in a browser: no token reaches it, whatever it may, and none is looked at. */
const OF_SESSIONS = { who: without(EVERYBODY, "nobody"), status: 403 };

const OWN = [
  "showSession",
  "switchProject",
  "joinProject",
  "showAccount",
  "changePassword",
  "showPreferences",
  "changePreferences",
  "listPushSubscriptions",
  "subscribePush",
];

/** Before anybody is known; only for pages of the server itself. */
const SIGNING_IN = ["signIn", "openInvitation", "useInvitation"].map((operation) => ({
  operation,
  who: EVERYBODY,
  status: 403,
}));

/** Navigations, which anybody may begin; this server has no identity provider. */
const AT_PROVIDER = ["beginOidcSignIn", "completeOidcSignIn"].map((operation) => ({
  operation,
  who: EVERYBODY,
  status: 404,
}));

/** The console: one page for all, whose scripts ask for what is on it. */
const SCREENS = ["history", "audit", "policies", "instances", "settings"].flatMap((screen) => [
  { operation: `${screen}Page`, who: EVERYBODY, status: 200 },
  { operation: `${screen}ItemPage`, who: EVERYBODY, status: 200, id: () => "one" },
]);

const PAGES = ["signInPage", "invitationPage", "setupPage", "inboxPage"].map((operation) => ({
  operation,
  who: EVERYBODY,
  status: 200,
}));

const SIGN_IN: readonly AuthorizationRow[] = [
  ...OWN.map((operation) => ({ operation, ...OF_SESSIONS })),
  { operation: "signOut", ...OF_SESSIONS },
  {
    operation: "endSession",
    about: "another",
    ...OF_SESSIONS,
    id: (stage) => stage.requestId,
  },
  ...["unsubscribePush", "testPush"].map((operation) => ({
    operation,
    ...OF_SESSIONS,
    id: (stage: AuthorizationStage) => stage.requestId,
  })),
  ...SIGNING_IN,
  ...AT_PROVIDER,
  { operation: "showWays", who: EVERYBODY, status: 200 },
  ...PAGES,
  // The page is the same for everybody; what is on it, its script asks for.
  { operation: "requestPage", who: EVERYBODY, status: 200, id: (stage) => stage.requestId },
  ...SCREENS,
  ...["serviceWorker", "appManifest", "smallIcon", "largeIcon", "maskableIcon"].map(
    (operation) => ({ operation, who: EVERYBODY, status: 200 }),
  ),
  { operation: "consoleAsset", who: EVERYBODY, status: 404, id: () => "none.js" },
  { operation: "listInvitations", who: ADMINISTERING, status: 200 },
  {
    // Whoever used a bot's link would count as a person, and reads.
    operation: "createInvitation",
    who: without(ADMINISTERING, "bot", "people"),
    status: 201,
    body: (stage) => ({ name: stage.freshName(), role: "viewer" }),
  },
  {
    operation: "createInvitation",
    about: "for a reviewer",
    status: 201,
    who: without(ADMINISTERING, "bot", "people"),
    body: (stage) => ({ name: stage.freshName(), role: "reviewer" }),
  },
  {
    operation: "revokeInvitation",
    who: ADMINISTERING,
    status: 404,
    id: (stage) => stage.requestId,
  },
];

const AUDIT: readonly AuthorizationRow[] = [
  { operation: "listAuditEntries", who: AUDITING, status: 200 },
  { operation: "showCheckpoint", who: AUDITING, status: 404 },
  { operation: "exportAuditLog", who: AUDITING, status: 404 },
  { operation: "verifyAuditLog", who: AUDITING, status: 404 },
  { operation: "proveAuditEntry", who: AUDITING, status: 404, id: (stage) => stage.requestId },
];

const IN_BROWSERS = [
  "listPasskeys",
  "beginPasskey",
  "addPasskey",
  "renamePasskey",
  "removePasskey",
];

const FROM_PAGES = [
  "beginPasskeySignIn",
  "signInWithPasskey",
  "beginPasskeyByLink",
  "joinWithPasskey",
];

const PASSKEYS: readonly AuthorizationRow[] = [
  {
    // A token cannot sign, whatever it may decide.
    operation: "challengeVerdict",
    who: [],
    status: 200,
    id: (stage) => stage.requestId,
    body: (stage) => ({ verdict: "approve", arguments_sha256: stage.argumentsSha256 }),
  },
  ...IN_BROWSERS.map((operation) => ({
    operation,
    ...OF_SESSIONS,
    ...(/^(rename|remove)/.test(operation) && { id: () => "a" }),
  })),
  ...FROM_PAGES.map((operation) => ({ operation, who: EVERYBODY, status: 403 })),
];

/** For probes and whoever else: they tell nothing of anybody. */
const OPERATIONAL: readonly AuthorizationRow[] = [
  "healthz",
  "readyz",
  "metrics",
  "openapi",
  "reviewOpenapi",
].map((operation) => ({ operation, who: EVERYBODY, status: 200 }));

export const ROWS: readonly AuthorizationRow[] = [
  ...REQUESTS,
  ...HISTORY,
  ...DELIVERIES,
  ...policyRows("Policy"),
  ...policyRows("Floor"),
  ...INSTANCES,
  ...FREEZES,
  ...GRANTS,
  ...PEOPLE,
  ...CHANNELS,
  ...CONTRACT,
  ...SIGN_IN,
  ...PASSKEYS,
  ...AUDIT,
  ...OPERATIONAL,
];

/** Which credential it is that a caller of another project has. */
export function foreignKind({
  operation,
}: AuthorizationRow): "provisioner" | "instance" | "reviewer" {
  const row = [...CONTRACT, ...EXTENSION_ROWS].find((each) => each.operation === operation);
  if (row === undefined) return "reviewer";
  return row.who.includes("instance") ? "instance" : "provisioner";
}
