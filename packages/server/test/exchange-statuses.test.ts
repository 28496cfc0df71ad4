import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { OPERATIONS, type OperationName } from "@countersign/protocol";
import {
  type FailingProvider,
  startBroken,
  startExhausted,
  startUnavailable,
} from "./support/failing-providers.ts";
import {
  type Change,
  callOperation,
  OPERATION_NAMES,
  pathOf,
  type Stage,
  setStage,
} from "./support/operation-calls.ts";
import { type Answer, SUBMISSION, startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after });
const reviewer = await server.token({ kind: "reviewer" });

const exhausted = await startExhausted({ after });
const broken = await startBroken({ after });
const unavailable = await startUnavailable({ after });

/** How each operation is brought to each status, on a stage of its own. */
const PROVOCATIONS: Readonly<
  Record<number, (operation: OperationName, stage: Stage) => Promise<Answer>>
> = {
  200: (operation, stage) => call(operation, stage, { key: "a key" }, { key: "a key" }),
  201: (operation, stage) => call(operation, stage),
  204: (operation, stage) => call(operation, stage),
  400(operation, stage) {
    if (operation !== "getApprovalRequest") return call(operation, stage, { body: "{" });
    return server.call("GET", `${pathOf(server, operation, stage)}?wait=1`, {
      token: stage.credential,
    });
  },
  401: (operation, stage) => call(operation, stage, { token: undefined }),
  403: (operation, stage) => call(operation, stage, { token: reviewer }),
  404: (operation, stage) => call(operation, stage, { id: randomUUID() }),
  async 409(operation, stage) {
    if (operation === "cancelApprovalRequest") {
      await server.decide(reviewer, stage.requestId, "deny");
      return call(operation, stage);
    }
    const body = OTHER_INPUT[operation];
    return call(operation, stage, { key: "a key" }, { key: "a key", body });
  },
  429: (operation) => callFailing(exhausted, operation),
  500: (operation) => callFailing(broken, operation),
  503: (operation) => callFailing(unavailable, operation),
};

const OTHER_INPUT: Readonly<Partial<Record<OperationName, object>>> = {
  provisionInstance: { instance_name: "another" },
  updateInstance: { instance_name: "another" },
  createApprovalRequest: { ...SUBMISSION, tool: "another" },
};

/** Calls an operation once with each of the changes; the last answer counts. */
async function call(
  operation: OperationName,
  stage: Stage,
  ...changes: readonly Change[]
): Promise<Answer> {
  const [change, ...more] = changes;
  const answer = await callOperation(server, operation, stage, change);
  return more.length === 0 ? answer : call(operation, stage, ...more);
}

function callFailing(failingProvider: FailingProvider, operation: OperationName): Promise<Answer> {
  return callOperation(failingProvider.server, operation, failingProvider.stage);
}

/** Input that an operation does not use or expect. */
const ODDITIES: readonly Change[] = [
  { headers: { accept: "text/html, image/*;q=0" } },
  { headers: { "accept-encoding": "identity;q=0" } },
  { headers: { range: "bytes=0-1", "if-none-match": "*", "if-match": '"a"' } },
  { headers: { "x-http-method-override": "DELETE", "x-forwarded-for": "not an address" } },
  { headers: { "content-type": "nonsense" } },
  { headers: { "content-encoding": "br" } },
  { headers: { origin: "https://elsewhere.example", "sec-fetch-mode": "cors" } },
  { key: "\u00ff".repeat(100) },
  { key: " " },
  { id: "\u{1f600}" },
  { id: "%" },
  { id: ".." },
];

for (const operation of OPERATION_NAMES) {
  const { success, errors } = OPERATIONS[operation];
  // 422 is of webhook deliveries, which are refused with 400 as long as there are none.
  const statuses = [...success, ...errors].filter((status) => status !== 422);

  test(`[exchange.statuses] [ours.openapi.answers] ${operation} answers with each of its statuses as described: ${statuses.join(", ")}`, async () => {
    for (const status of statuses) {
      // Every answer that a test gets is held against the description; here we only have to
      // bring each of them about.
      const answer = await PROVOCATIONS[status]?.(operation, await setStage(server));
      assert.equal(answer?.status, status, answer?.text);
    }
  });

  test(`[exchange.statuses] ${operation} returns only its documented statuses, for any input`, async () => {
    const declared: readonly number[] = statuses;
    const stage = await setStage(server);
    const bodies = OPERATIONS[operation].method === "GET" ? [] : [{ body: "{" }, { body: "" }];
    for (const change of [...ODDITIES, ...bodies]) {
      const answer = await callOperation(server, operation, stage, change);
      assert.ok(declared.includes(answer.status), `${answer.status} to ${JSON.stringify(change)}`);
    }
  });
}
