/**
 * Which tests hold which files. By itself a file is held by the test beside it; what has none, or
 * is held from further away, is said here. To measure another file:
 * a row, or a test beside it.
 */

const SERVER = "packages/server";

/** From the file to the tests after the one beside it; the quick ones first. */
export const TESTS: Readonly<Record<string, readonly string[]>> = {
  [`${SERVER}/src/core/audit-line.ts`]: [`${SERVER}/test/audit-verify.test.ts`],
  [`${SERVER}/src/core/channel-pace.ts`]: [`${SERVER}/test/announcements.test.ts`],
  [`${SERVER}/src/core/channel-target.ts`]: [`${SERVER}/test/channels.test.ts`],
  [`${SERVER}/src/core/freeze.ts`]: [`${SERVER}/test/freeze.test.ts`],
  [`${SERVER}/src/core/giving.ts`]: [`${SERVER}/test/people-tokens.test.ts`],
  [`${SERVER}/src/core/held-verdict.ts`]: [`${SERVER}/test/held-verdicts.test.ts`],
  [`${SERVER}/src/core/password.ts`]: [`${SERVER}/test/sign-in.test.ts`],
  [`${SERVER}/src/core/preferences.ts`]: [`${SERVER}/test/preferences.test.ts`],
  [`${SERVER}/src/core/push.ts`]: [`${SERVER}/test/push.test.ts`],
  [`${SERVER}/src/core/request-filter.ts`]: [`${SERVER}/test/history.test.ts`],
  [`${SERVER}/src/core/roles.ts`]: [`${SERVER}/src/core/scopes.test.ts`],
  [`${SERVER}/src/core/session.ts`]: [`${SERVER}/test/sessions.test.ts`],
  [`${SERVER}/src/core/visible-text.ts`]: [`${SERVER}/test/channels.test.ts`],
  [`${SERVER}/src/http/authenticate.ts`]: [
    `${SERVER}/test/authentication.test.ts`,
    `${SERVER}/test/rate-limit.test.ts`,
    `${SERVER}/test/sessions.test.ts`,
  ],
  [`${SERVER}/src/http/same-origin.ts`]: [`${SERVER}/test/sessions.test.ts`],
  [`${SERVER}/src/http/session-cookie.ts`]: [`${SERVER}/test/sessions.test.ts`],
  [`${SERVER}/src/http/message-fault.ts`]: [`${SERVER}/test/attack-framing.test.ts`],
  [`${SERVER}/src/operations/authenticateCaller.ts`]: [
    `${SERVER}/test/authentication.test.ts`,
    `${SERVER}/test/people-removed.test.ts`,
  ],
  [`${SERVER}/src/operations/authenticateSession.ts`]: [`${SERVER}/test/sessions.test.ts`],
  [`${SERVER}/src/review/sign-in-limits.ts`]: [`${SERVER}/test/sign-in.test.ts`],
  "packages/protocol/src/json.ts": [
    "packages/protocol/src/json-source.test.ts",
    "packages/protocol/src/json-equal.test.ts",
  ],
};

/** What the measure is about when nothing else is asked for. */
export const MEASURED: readonly string[] = [
  `${SERVER}/src/core/*.ts`,
  `${SERVER}/src/policy/{decider,requirement}.ts`,
  `${SERVER}/src/http/{authenticate,same-origin,session-cookie,message-fault}.ts`,
  `${SERVER}/src/operations/authenticate{Caller,Session}.ts`,
  `${SERVER}/src/secrets/token.ts`,
  "packages/protocol/src/{json,json-equal}.ts",
];
