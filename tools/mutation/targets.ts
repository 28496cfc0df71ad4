/**
 * Which tests hold which files. By itself a file is held by the test beside it; what has none, or
 * is held from further away, is said here. To measure another file:
 * a row, or a test beside it.
 */

const SERVER = "packages/server";

/** From the file to the tests after the one beside it; the quick ones first. */
export const TESTS: Readonly<Record<string, readonly string[]>> = {
  [`${SERVER}/src/core/channel-pace.ts`]: [`${SERVER}/src/core/channel.test.ts`],
  [`${SERVER}/src/core/channel-target.ts`]: [`${SERVER}/src/core/channel.test.ts`],
  [`${SERVER}/src/steps/access/mayAuthenticate.ts`]: [
    `${SERVER}/src/operations/access/authenticateCaller.test.ts`,
  ],
  [`${SERVER}/src/steps/access/recheckInstance.ts`]: [
    `${SERVER}/src/operations/access/authenticateCaller.test.ts`,
  ],
  [`${SERVER}/src/http/authenticate.ts`]: [`${SERVER}/src/http/authenticate-late.test.ts`],
  [`${SERVER}/src/http/same-origin.ts`]: [`${SERVER}/src/http/session-cookie.test.ts`],
  "packages/protocol/src/json.ts": [
    "packages/protocol/src/json-source.test.ts",
    "packages/protocol/src/json-equal.test.ts",
  ],
};

/** The default files: core, quorum, authentication, JSON. */
export const MEASURED: readonly string[] = [
  `${SERVER}/src/core/*.ts`,
  `${SERVER}/src/policy/{decider,requirement}.ts`,
  `${SERVER}/src/steps/{requests/recordVote,access/readActiveReviewers}.ts`,
  `${SERVER}/src/http/{authenticate,same-origin,session-cookie,message-fault}.ts`,
  `${SERVER}/src/operations/access/authenticate{Caller,Session}.ts`,
  `${SERVER}/src/steps/access/{mayAuthenticate,recheckInstance}.ts`,
  `${SERVER}/src/review/access/sign-in-limits.ts`,
  `${SERVER}/src/secrets/token.ts`,
  "packages/protocol/src/{json,json-equal}.ts",
];
