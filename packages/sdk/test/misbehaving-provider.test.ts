/**
 * Wrong answers of a provider or of a proxy in front of it: none lets a call run.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApprovalClient, Countersign, MemoryStore, SdkError } from "@countersign/sdk";
import {
  APPROVED,
  at,
  CREATED_AT,
  DECIDED_AT,
  EXPIRES_AT,
  type Exchange,
  ID,
  type Kind,
  OTHER_ID,
  type Respond,
  startMisbehavingProvider,
} from "@countersign/testing/misbehaving-provider";
import { manualTiming } from "./support/manual-timing.ts";

const ARGUMENTS = { account: "A-1", cents: 5_000, nested: { list: [1, 2.5, null, true, "x"] } };

/** Has its records since before the requests of the misbehaving provider. */
function oldStore(): MemoryStore {
  return new MemoryStore({ timing: manualTiming(CREATED_AT) });
}

/** Guards a call at a provider with wrong answers. */
async function guardAt(
  t: Parameters<typeof startMisbehavingProvider>[0],
  respond: Respond,
  client = {},
) {
  const provider = await startMisbehavingProvider(t, respond);
  // A bad answer is asked for again, after pauses.
  const timing = manualTiming();
  const options = { maxAnswerBytes: 100_000, timing, ...client };
  const approvals = new Countersign({
    url: provider.url,
    apiKey: "t0ken",
    ...options,
    store: oldStore(),
    logger: false,
  });
  let runs = 0;
  const call = {
    idempotencyKey: "k1",
    tool: "pay",
    arguments: ARGUMENTS,
    reasoning: "r",
    context: { cwd: "/" },
  };
  const outcome = await approvals.run(call, () => ++runs);
  return { outcome, runs: () => runs, provider };
}

async function assertNoDecision(
  t: Parameters<typeof startMisbehavingProvider>[0],
  respond: Respond,
  message: RegExp,
  code = "invalid_answer",
): Promise<void> {
  const { outcome, runs } = await guardAt(t, respond);
  assert.equal(runs(), 0);
  assert.ok(
    outcome.status !== "executed" && outcome.reason === "no_decision",
    JSON.stringify(outcome),
  );
  const { error } = outcome;
  assert.ok(error instanceof SdkError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
}

/** Replaces a part of the correct answers of one kind; the part must be there. */
function altering(kind: Kind, from: string | RegExp, to: string): Respond {
  return (exchange) => {
    if (exchange.kind !== kind) return exchange.correctAnswer;
    const altered = exchange.correctAnswer.replace(from, to);
    assert.notEqual(
      altered,
      exchange.correctAnswer,
      `nothing to alter in ${exchange.correctAnswer}`,
    );
    return altered;
  };
}

function approvedWith(from: string, to: string): [string, string] {
  return [APPROVED, APPROVED.replace(from, to)];
}

test("[ours.sdk.gate.fail-closed] the call runs after an approval in a correct answer", async (t) => {
  const { outcome, provider, runs } = await guardAt(t, ({ correctAnswer }) => correctAnswer);
  assert.ok(outcome.status === "executed", JSON.stringify(outcome));
  assert.equal(runs(), 1);
  assert.deepEqual(provider.seen, ["create", "read"]);
});

test("[ours.sdk.client.strict] unknown members of the request are ignored, and the call runs", async (t) => {
  const { outcome } = await guardAt(t, ({ correctAnswer }) =>
    correctAnswer.replace('{"id"', '{"region":"x","id"'),
  );
  assert.equal(outcome.status, "executed");
});

/** A name, the correct text of an answer, its false replacement, and the expected error. */
const LIES: readonly (readonly [string, string | RegExp, string, RegExp])[] = [
  ["changed argument", '"cents":5000', '"cents":500000', /arguments are not/],
  ["argument that is nearly equal", "2.5,", "2.5000000000000000000000001,", /arguments are not/],
  ["number as text", '"cents":5000', '"cents":"5000"', /arguments are not/],
  ["argument more", '"cents":5000', '"cents":5000,"force":true', /arguments are not/],
  ["argument less", '"cents":5000,', "", /arguments are not/],
  ["another order in a list", "[1,2.5,", "[2.5,1,", /arguments are not/],
  ["huge number", '"cents":5000', '"cents":1e999999999', /arguments are not/],
  ["number of two thousand digits", '"cents":5000', `"cents":${"9".repeat(2000)}`, /longer than/],
  ["deep nesting", '"cents":5000', `"cents":${"[".repeat(200)}`, /nested/],
  ["another tool", '"tool":"pay"', '"tool":"look"', /tool is not/],
  ["another window", '"timeout":"1h"', '"timeout":"2h"', /timeout is not/],
  ["other reasoning", '"agent_reasoning":"r"', '"agent_reasoning":"s"', /agent_reasoning is not/],
  ["no reasoning", '"agent_reasoning":"r",', "", /agent_reasoning is not/],
  ["other context", '"cwd":"/"', '"cwd":"/root"', /context is not/],
  ["no context", /"context":\{[^}]*\},/, "", /context is not/],
  ["id that is not a UUID", ID, "17", /id is not a UUID/],
  ["null id", `"${ID}"`, "null", /id must be a string/],
  ["no id", `"id":"${ID}",`, "", /id is required/],
  ["null arguments", /"arguments":\{.*?\}\}/, '"arguments":null', /arguments must be/],
  ["null reasoning", '"agent_reasoning":"r"', '"agent_reasoning":null', /agent_reasoning must/],
  ["duplicate key", '"tool":"pay"', '"tool":"pay","tool":"pay"', /same key twice/],
  ["duplicate key in arguments", '"cents":5000', '"cents":5000,"cents":5000', /same key twice/],
  ["no created_at", /"created_at":"[^"]*",/, "", /created_at is required/],
  ["created_at with an offset", at(CREATED_AT), "2026-01-01T00:00:00+00:00", /created_at is no/],
  ["created_at that no calendar has", at(CREATED_AT), "2026-02-30T00:00:00Z", /created_at is no/],
  ["created_at as a number", `"${at(CREATED_AT)}"`, String(CREATED_AT), /created_at must be/],
  [
    "deadline before the creation",
    `"deadline_at":"${at(EXPIRES_AT)}"`,
    '"deadline_at":"2020-01-01T00:00:00Z"',
    /deadline_at is before/,
  ],
  ["no JSON", /.$/, "", /not valid JSON/],
  ["text after the end", /$/, "{}", /text after the end/],
  ["list", /^.*$/, "[]", /must be a JSON object/],
  ["half a character", '"account":"A-1"', '"account":"\\ud800"', /surrogate/],
];

for (const kind of ["create", "read"] as const) {
  for (const [what, from, to, message] of LIES) {
    test(`[ours.sdk.client.strict] the call does not run if the answer to a ${kind} has: ${what}`, async (t) => {
      await assertNoDecision(t, altering(kind, from, to), message);
    });
  }
}

const DECIDED = `"decided_at":"${at(DECIDED_AT)}"`;
const EXPIRES = `"expires_at":"${at(EXPIRES_AT)}"`;

/** A name, the correct text of an approval, its false replacement, and the expected error. */
const APPROVALS: readonly (readonly [string, string, string, RegExp])[] = [
  [
    "no decision",
    ...approvedWith(/,"decision".*$/.exec(APPROVED)?.[0] ?? "", ""),
    /decision is req/,
  ],
  [
    "null decision",
    ...approvedWith(/\{.*\}/.exec(APPROVED)?.[0] ?? "", "null"),
    /decision must be/,
  ],
  [
    "a denial in the decision",
    ...approvedWith('{"status":"approved"', '{"status":"denied"'),
    /decision.status/,
  ],
  [
    "a denial around the decision",
    ...approvedWith('"status":"approved",', '"status":"denied",'),
    /decision.status/,
  ],
  [
    "an unknown status",
    ...approvedWith('"status":"approved",', '"status":"allowed",'),
    /status is unknown/,
  ],
  [
    "a decision while pending",
    ...approvedWith('"status":"approved",', '"status":"pending",'),
    /must be absent while the status is pending/,
  ],
  ["no end", ...approvedWith(`,${EXPIRES}`, ""), /expires_at is required/],
  ["a null end", ...approvedWith(EXPIRES, '"expires_at":null'), /expires_at must be/],
  ["an end in words", ...approvedWith(at(EXPIRES_AT), "never"), /expires_at is no/],
  [
    "an end of another format",
    ...approvedWith(at(EXPIRES_AT), "9999-12-31 00:00:00Z"),
    /expires_at is no/,
  ],
  [
    "an end at the decision",
    ...approvedWith(EXPIRES, `"expires_at":"${at(DECIDED_AT)}"`),
    /not after decided_at/,
  ],
  [
    "a decision before the creation",
    ...approvedWith(DECIDED, `"decided_at":"${at(CREATED_AT - 1)}"`),
    /before created_at/,
  ],
  [
    "a decision after the deadline",
    ...approvedWith(DECIDED, `"decided_at":"${at(EXPIRES_AT + 1)}"`),
    /after deadline_at/,
  ],
  ["no time of the decision", ...approvedWith(`${DECIDED},`, ""), /decided_at is required/],
  ["a null note", ...approvedWith(DECIDED, `"note":null,${DECIDED}`), /note must be/],
  ["an unknown field", ...approvedWith(DECIDED, `"by":"me",${DECIDED}`), /unknown field/],
];

for (const [what, from, to, message] of APPROVALS) {
  test(`[ours.sdk.client.strict] the call does not run if an approval has ${what}`, async (t) => {
    await assertNoDecision(t, altering("read", from, to), message);
  });
  test(`[ours.sdk.client.strict] the call does not run if an immediate approval has ${what}`, async (t) => {
    const respond: Respond = ({ correctAnswer }) => correctAnswer.replace('"status":"pending"', to);
    await assertNoDecision(t, respond, message);
  });
}

test("[ours.sdk.client.strict] the call does not run if a read returns another request", async (t) => {
  await assertNoDecision(t, altering("read", ID, OTHER_ID), /id is that of another request/);
});

test("[ours.sdk.client.strict] the call does not run if a time of the request changes", async (t) => {
  const moved = at(CREATED_AT + 1_000);
  await assertNoDecision(t, altering("read", at(CREATED_AT), moved), /created_at has changed/);
  const later = `"deadline_at":"${at(EXPIRES_AT + 1)}"`;
  const respond = altering("read", `"deadline_at":"${at(EXPIRES_AT)}"`, later);
  await assertNoDecision(t, respond, /deadline_at has changed/);
});

test("[ours.sdk.client.strict] a status never goes back, and a decision never changes", async (t) => {
  let answer = ({ correctAnswer }: Exchange) => correctAnswer;
  const provider = await startMisbehavingProvider(t, (exchange) => answer(exchange));
  const client = new ApprovalClient({ url: provider.url, apiKey: "t0ken" });
  const input = { idempotencyKey: "k", tool: "pay", arguments: {}, timeout: "1h" };
  const approved = await client.read(await client.create(input));
  assert.equal(approved.status, "approved");
  const wrongAnswers = [
    APPROVED.replace(/.*/, '"status":"pending"'),
    APPROVED.replace(at(EXPIRES_AT), at(EXPIRES_AT + 1)),
    APPROVED.replace(at(DECIDED_AT), at(DECIDED_AT + 1)),
    APPROVED.replace(DECIDED, `"note":"more",${DECIDED}`),
  ];
  for (const wrong of wrongAnswers) {
    answer = ({ correctAnswer }) => correctAnswer.replace(APPROVED, wrong);
    await assert.rejects(client.read(approved), { code: "invalid_answer", message: /has changed/ });
  }
  answer = ({ correctAnswer }) => correctAnswer;
  assert.deepEqual(await client.read(approved), approved);
});

test("[ours.sdk.client.strict] an answer that is not application/json, or has another status, is invalid", async (t) => {
  for (const type of ["text/html", "application/json+x", "application/json; charset=latin1", ""]) {
    const respond: Respond = ({ kind, correctAnswer, response }) => {
      if (kind !== "read") return correctAnswer;
      response.writeHead(200, type === "" ? {} : { "content-type": type }).end(correctAnswer);
      return undefined;
    };
    await assertNoDecision(t, respond, /not application\/json/);
  }
  for (const status of [202, 204, 206]) {
    const respond: Respond = ({ kind, correctAnswer, response }) => {
      if (kind !== "read") return correctAnswer;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(status === 204 ? undefined : correctAnswer);
      return undefined;
    };
    await assertNoDecision(t, respond, new RegExp(`status is ${status}`));
  }
});

test("[ours.sdk.client.strict] an answer that is not valid UTF-8 is invalid", async (t) => {
  const respond: Respond = ({ kind, correctAnswer, response }) => {
    if (kind !== "read") return correctAnswer;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(Buffer.from(correctAnswer.replace("A-1", "\u00e9"), "latin1"));
    return undefined;
  };
  await assertNoDecision(t, respond, /UTF-8/);
});

test("[ours.sdk.client.redirect] a redirect is never followed, with any operation", async (t) => {
  let followed = 0;
  const elsewhere = await startMisbehavingProvider(t, ({ correctAnswer }) => {
    followed++;
    return correctAnswer;
  });
  for (const status of [301, 302, 303, 307, 308]) {
    for (const faulty of ["create", "read"]) {
      const respond: Respond = ({ kind, path, correctAnswer, response }) => {
        if (kind !== faulty) return correctAnswer;
        response.writeHead(status, { location: elsewhere.url + path }).end();
        return undefined;
      };
      await assertNoDecision(t, respond, /redirect/, "redirected");
    }
  }
  assert.equal(followed, 0);
});

test("[ours.sdk.client.bounded] an endless answer is aborted", async (t) => {
  const flood: Respond = ({ kind, correctAnswer, response }) => {
    if (kind !== "read") return correctAnswer;
    response.writeHead(200, { "content-type": "application/json" });
    const more = () => {
      while (!response.destroyed && response.write(" ".repeat(65_536)));
    };
    response.on("drain", more);
    more();
    return undefined;
  };
  await assertNoDecision(t, flood, /too large/);
});

test("[ours.sdk.client.bounded] a slow answer is aborted", async (t) => {
  const provider = await startMisbehavingProvider(t, ({ kind, correctAnswer, response }) => {
    if (kind !== "read") return correctAnswer;
    response.writeHead(200, { "content-type": "application/json" });
    response.write(correctAnswer.slice(0, -1));
    return undefined;
  });
  const client = new ApprovalClient({ url: provider.url, apiKey: "t0ken", attemptTimeout: "50ms" });
  await assert.rejects(client.read(ID, { retryFor: "100ms" }), { code: "unavailable" });
});

test("[ours.sdk.gate.fail-closed] a provider that reports pending after the deadline ends the wait", async (t) => {
  const timing = manualTiming();
  const provider = await startMisbehavingProvider(t, ({ kind, correctAnswer }) => {
    const deadline = `"deadline_at":"${at(CREATED_AT + 60_000)}"`;
    const answer = correctAnswer.replace(/"deadline_at":"[^"]*"/, deadline);
    return kind === "read" ? answer.replace(APPROVED, '"status":"pending"') : answer;
  });
  const approvals = new Countersign({
    url: provider.url,
    apiKey: "t0ken",
    timing,
    store: oldStore(),
  });
  const outcome = await approvals.run({ idempotencyKey: "k", tool: "pay", arguments: {} }, () =>
    assert.fail(),
  );
  assert.ok(outcome.status !== "executed" && outcome.reason === "no_decision");
  assert.match(String((outcome.error as Error).message), /still reports the request as pending/);
  // It was not asked in a tight loop.
  const polls = provider.seen.filter((kind) => kind === "read").length;
  assert.ok(polls <= 70_000 / 2_000 + 10, `${polls} polls`);
  assert.ok(!provider.seen.includes("cancel"));
});

test("[ours.sdk.gate.once] one request that answers two keys lets one call run", async (t) => {
  const provider = await startMisbehavingProvider(t, ({ correctAnswer }) => correctAnswer);
  const approvals = new Countersign({
    url: provider.url,
    apiKey: "t0ken",
    store: oldStore(),
  });
  let runs = 0;
  const call = { tool: "pay", arguments: ARGUMENTS };
  assert.equal(
    (await approvals.run({ ...call, idempotencyKey: "k1" }, () => ++runs)).status,
    "executed",
  );
  const second = await approvals.run({ ...call, idempotencyKey: "k2" }, () => ++runs);
  assert.ok(second.status !== "executed" && second.reason === "already_used");
  assert.equal(runs, 1);
});

test("[ours.sdk.gate.once] a second approval for a used key does not run the call again", async (t) => {
  let id = ID;
  const provider = await startMisbehavingProvider(t, ({ correctAnswer }) =>
    correctAnswer.replace(ID, id),
  );
  const approvals = new Countersign({
    url: provider.url,
    apiKey: "t0ken",
    store: oldStore(),
  });
  let runs = 0;
  const call = { idempotencyKey: "k1", tool: "pay", arguments: ARGUMENTS };
  assert.equal((await approvals.run(call, () => ++runs)).status, "executed");
  id = OTHER_ID;
  const second = await approvals.run(call, () => ++runs);
  assert.ok(second.status !== "executed" && second.reason === "already_used");
  assert.equal(runs, 1);
});

test("[ours.sdk.client.bad-answers] a few answers that are not the provider's do not end the wait", async (t) => {
  const pages: readonly ((exchange: Exchange) => string | undefined)[] = [
    ({ response }) => void response.writeHead(404, { "content-type": "text/html" }).end("gone"),
    ({ response }) => void response.writeHead(403).end(),
    () => "<html>maintenance</html>",
    ({ response }) => void response.writeHead(302, { location: "/sorry" }).end(),
    () => "{}",
  ];
  let reads = 0;
  const { outcome, provider } = await guardAt(t, (exchange) => {
    const page = exchange.kind === "read" ? pages[reads++] : undefined;
    return page === undefined ? exchange.correctAnswer : page(exchange);
  });
  assert.ok(outcome.status === "executed", JSON.stringify(outcome));
  assert.deepEqual(provider.seen, ["create", ...Array(6).fill("read")]);
});

test("[ours.sdk.client.bad-answers] a wait that bad answers end leaves the request to the same key", async (t) => {
  const { outcome, provider } = await guardAt(t, ({ kind, correctAnswer }) =>
    kind === "read" ? "{}" : correctAnswer,
  );
  assert.ok(outcome.status !== "executed" && outcome.reason === "no_decision");
  assert.deepEqual(provider.seen, ["create", ...Array(11).fill("read")]);
});
