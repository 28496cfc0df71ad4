/**
 * The authorization matrix: every operation against every kind of caller. The rows of both APIs
 * derive from their tables; `test/authorization.test.ts` runs all rows against a server.
 */

import { AGENT_OPERATIONS, OPERATIONS } from "@countersign/protocol";
import {
  type Operation,
  REVIEW_OPERATIONS,
  type ReviewOperationName,
} from "@countersign/review-api";
import { type AnyFixture, CONTRACT_FIXTURES, FIXTURES } from "./authorization-fixtures.ts";
import { type AuthorizationRow, CALLERS, HOLDERS, type Profile } from "./authorization-profiles.ts";

function reviewRows(name: ReviewOperationName): readonly AuthorizationRow[] {
  const row: Operation = REVIEW_OPERATIONS[name];
  const fixtures: AnyFixture | readonly AnyFixture[] = FIXTURES[name] ?? {};
  return [fixtures].flat().map((fixture) => {
    const { about, query, body, undo } = fixture;
    const hasParameter = row.path.includes("{");
    const status = fixture.status ?? statusOf(name, row);
    return {
      operation: name,
      ...(about !== undefined && { about }),
      credential: "reviewer",
      who: callersOf(name, row, fixture),
      status,
      foreign: fixture.foreign ?? (hasParameter && row.caller === "reviewer" ? 404 : status),
      id: fixture.id ?? (hasParameter ? () => "1" : undefined),
      query,
      body,
      undo,
    };
  });
}

/** Profiles that reach the operation, or learn only that no token does. */
function callersOf(name: string, { caller, power }: Operation, { exception }: AnyFixture): Profile {
  if (caller === "anonymous") return CALLERS;
  // The server rejects every `Authorization` header before it reads the token.
  if (caller === "person") return CALLERS.filter((each) => each !== "no credential");
  const required = exception?.power ?? power;
  if (required === undefined) throw new Error(`The row of ${name} has no power. Add it.`);
  const { also = [], not = [] } = exception ?? {};
  return CALLERS.filter(
    (each) => (HOLDERS[required].includes(each) && !not.includes(each)) || also.includes(each),
  );
}

function statusOf(name: string, { caller, method, answers }: Operation): number {
  // Only pages of the server reach these.
  if (caller === "person" || (caller === "anonymous" && method !== "GET")) return 403;
  const [status, ...others] = Object.keys(answers).map(Number);
  if (status !== undefined && others.length === 0) return status;
  throw new Error(`${name} has several statuses. Add \`status\` to authorization-fixtures.ts.`);
}

const CONTRACT = { ...OPERATIONS, ...AGENT_OPERATIONS };

function contractRow(operation: keyof typeof CONTRACT): AuthorizationRow {
  const { credential, success } = CONTRACT[operation];
  const fixture: AnyFixture = CONTRACT_FIXTURES[operation];
  const { id, body, status = success[0] } = fixture;
  const foreign = id === undefined ? status : 404;
  return { operation, credential, who: [credential, "foreign"], status, foreign, id, body };
}

function openRow(operation: string, status = 200, id?: string): AuthorizationRow {
  const value = id === undefined ? undefined : () => id;
  return { operation, credential: "reviewer", who: CALLERS, status, foreign: status, id: value };
}

/** Admitted callers receive the error of an empty input: a valid call would wait for a decision. */
const HOOK: AuthorizationRow = {
  operation: "answerHook",
  credential: "instance",
  who: ["instance", "foreign"],
  status: 400,
  foreign: 400,
  id: () => "claude-code",
  body: () => ({}),
};

/** Probes, descriptions, and the pages and files of the console: the same for everyone. */
const OPEN: readonly AuthorizationRow[] = [
  ...["healthz", "readyz", "metrics", "openapi", "reviewOpenapi"].map((name) => openRow(name)),
  ...["signInPage", "invitationPage", "setupPage", "inboxPage", "allPage"].map((name) =>
    openRow(name),
  ),
  ...["history", "dashboard", "sessions", "audit", "policies", "instances", "settings"].flatMap(
    (screen) => [openRow(`${screen}Page`), openRow(`${screen}ItemPage`, 200, "one")],
  ),
  openRow("requestPage", 200, "one"),
  openRow("allItemPage", 200, "one"),
  // The screen `:screen` does not exist.
  openRow("projectPage", 404, "0"),
  openRow("projectItemPage", 404, "0"),
  ...["serviceWorker", "appManifest", "smallIcon", "largeIcon", "maskableIcon"].map((name) =>
    openRow(name),
  ),
  openRow("consoleAsset", 404, "none.js"),
  // There is no channel, and no credential helps.
  openRow("receiveChat", 404, "none"),
  // There is no identity provider, and only its signature helps.
  openRow("endProviderSessions", 404),
];

export const ROWS: readonly AuthorizationRow[] = [
  ...(Object.keys(REVIEW_OPERATIONS) as ReviewOperationName[]).flatMap(reviewRows),
  ...(Object.keys(CONTRACT) as (keyof typeof CONTRACT)[]).map(contractRow),
  HOOK,
  ...OPEN,
];
