/** Keys of submissions: one execution attempt, one request. */

import { expectRefusal, expectStatus, requestOf, SUBMISSION } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect } from "../violation.ts";

/** Where careless storage cuts a key off, or before. */
const LONG_KEY_CHARS = 100;

/** How many are sent at the same time, where one may win. */
const CONTENDERS = 12;

/** Time for a call to arrive before its sender hangs up. */
const LINGER_MS = 20;

const FULL = { ...SUBMISSION, agent_reasoning: "Because.", context: { cwd: "/tmp" } };

/** Each differs from it in one field. */
const OTHERS: readonly object[] = [
  { ...FULL, tool: "conformance.other" },
  { ...FULL, arguments: { ...FULL.arguments, more: 1 } },
  { ...FULL, arguments: {} },
  { ...FULL, timeout: "11m" },
  { ...FULL, agent_reasoning: "because." },
  { ...FULL, context: { cwd: "/" } },
  { ...SUBMISSION, agent_reasoning: "Because." },
  { ...SUBMISSION, context: { cwd: "/tmp" } },
];

/** Pairs of arguments that a reader with binary doubles takes for the same. */
const CLOSE: readonly (readonly [string, string])[] = [
  ['{"id":9007199254740993}', '{"id":9007199254740992}'],
  ['{"id":0.1}', '{"id":0.1000000000000000055}'],
  ['{"id":1e400}', '{"id":1e401}'],
  ['{"id":"1"}', '{"id":1}'],
  ['{"id":"é"}', '{"id":"e\\u0301"}'],
  ['{"list":[1,2]}', '{"list":[2,1]}'],
  ['{"a":null}', "{}"],
];

export const IDEMPOTENCY: readonly Scenario[] = [
  scenario(
    "idempotency.replay",
    "The same key and input answer the same request with 200",
    ["request.create.replay"],
    async (kit) => {
      const rule = "request.create.replay";
      const { token } = await kit.provision();
      const call = { token, key: kit.key(), body: FULL };
      const first = await kit.call("createApprovalRequest", call);
      expectStatus(first, 201, "request.create");
      for (let replay = 0; replay < 2; replay++) {
        const answer = await kit.call("createApprovalRequest", call);
        expectStatus(answer, 200, rule);
        const [one, other] = [requestOf(first), requestOf(answer)];
        expect(one.id === other.id, rule, "the replay opened another request");
        expect(one.createdAt === other.createdAt, rule, "the replay changed created_at");
        expect(one.deadlineAt === other.deadlineAt, rule, "the replay moved the deadline");
      }
    },
  ),
  scenario(
    "idempotency.replay-current",
    "A replay answers the request in its current state",
    ["request.create.replay"],
    async (kit) => {
      const rule = "request.create.replay";
      const instance = await kit.provision();
      const { id, key, body } = await kit.submit(instance);
      const cancelled = await kit.cancelled(instance, id);
      const answer = await kit.call("createApprovalRequest", { token: instance.token, key, body });
      expectStatus(answer, 200, rule);
      const { status, decision } = requestOf(answer);
      expect(status === "cancelled", rule, `the replay of a cancelled request shows ${status}`);
      const isSame = decision?.decidedAt === cancelled.decision?.decidedAt;
      expect(isSame, "request.terminal.unchanged", "the replay shows another decision");
    },
  ),
  scenario(
    "idempotency.conflict",
    "The same key with other input in any field is a 409",
    ["request.create.conflict"],
    async (kit) => {
      const { token } = await kit.provision();
      const key = kit.key();
      const first = await kit.call("createApprovalRequest", { token, key, body: FULL });
      expectStatus(first, 201, "request.create");
      for (const body of OTHERS) {
        const answer = await kit.call("createApprovalRequest", { token, key, body });
        expectRefusal(answer, 409, "request.create.conflict", "idempotency_conflict");
      }
      const replay = await kit.call("createApprovalRequest", { token, key, body: FULL });
      expectStatus(replay, 200, "request.create.replay");
    },
  ),
  scenario(
    "idempotency.conflict-exact",
    "Arguments that differ in what is easily lost are other input",
    ["request.create.conflict-exact"],
    async (kit) => {
      const rule = "request.create.conflict-exact";
      const { token } = await kit.provision();
      const body = (object: string) => `{"tool":"t","arguments":${object},"timeout":"10m"}`;
      for (const [one, other] of CLOSE) {
        const key = kit.key();
        const call = { token, key, body: body(one) };
        expectStatus(await kit.call("createApprovalRequest", call), 201, rule);
        const answer = await kit.call("createApprovalRequest", { ...call, body: body(other) });
        const message = `${one} and ${other} are taken for the same input`;
        expect(answer.status !== 200, rule, message);
        expectRefusal(answer, 409, rule, "idempotency_conflict");
      }
    },
  ),
  scenario(
    "idempotency.key-scope",
    "The same key of another instance opens another request",
    ["request.create.key-scope"],
    async (kit) => {
      const rule = "request.create.key-scope";
      const key = kit.key();
      const ids = new Set<string>();
      for (const { token } of [await kit.provision(), await kit.provision()]) {
        const answer = await kit.call("createApprovalRequest", { token, key, body: SUBMISSION });
        expectStatus(answer, 201, rule);
        ids.add(requestOf(answer).id);
      }
      expect(ids.size === 2, rule, "both instances have the same request");
    },
  ),
  scenario(
    "idempotency.distinct-keys",
    "The same input with another key, however alike, opens another request",
    ["request.create.key-distinct"],
    async (kit) => {
      const rule = "request.create.key-distinct";
      const { token } = await kit.provision();
      const key = kit.key();
      const long = key.padEnd(LONG_KEY_CHARS, "-");
      const ids = new Set<string>();
      for (const each of [key, kit.key(), key.toUpperCase(), `${long}1`, `${long}2`]) {
        const call = { token, key: each, body: FULL };
        const answer = await kit.call("createApprovalRequest", call);
        // A long one may be too long.
        if (each.length > LONG_KEY_CHARS && answer.status === 400) continue;
        expectStatus(answer, 201, rule);
        const { id } = requestOf(answer);
        expect(!ids.has(id), rule, "two keys have the same request");
        ids.add(id);
      }
    },
  ),
  scenario(
    "idempotency.concurrent",
    "Concurrent submissions with one key open one request",
    ["request.create.concurrent"],
    async (kit) => {
      const rule = "request.create.concurrent";
      const { token } = await kit.provision();
      const call = { token, key: kit.key(), body: FULL };
      const all = Array.from({ length: CONTENDERS }, () => kit.call("createApprovalRequest", call));
      const answers = await Promise.all(all);
      const opened = answers.filter(({ status }) => status === 201).length;
      for (const answer of answers) if (answer.status !== 201) expectStatus(answer, 200, rule);
      const ids = new Set(answers.map((answer) => requestOf(answer).id));
      const isOne = opened === 1 && ids.size === 1;
      expect(isOne, rule, `${opened} of ${CONTENDERS} are 201, for ${ids.size} requests`);
    },
  ),
  scenario(
    "idempotency.concurrent-conflict",
    "Of concurrent submissions with one key and two inputs, one input wins",
    ["request.create.concurrent", "request.create.conflict"],
    async (kit) => {
      const rule = "request.create.concurrent";
      const { token } = await kit.provision();
      const key = kit.key();
      const answers = await Promise.all(
        Array.from({ length: CONTENDERS }, (_, index) => {
          const body = { ...SUBMISSION, arguments: { side: index % 2 } };
          return kit.call("createApprovalRequest", { token, key, body });
        }),
      );
      const accepted = answers.filter(({ status }) => status < 300);
      const ids = new Set(accepted.map((answer) => requestOf(answer).id));
      const opened = accepted.filter(({ status }) => status === 201).length;
      expect(opened === 1 && ids.size === 1, rule, `${opened} are 201, for ${ids.size} requests`);
      for (const answer of answers) {
        if (answer.status < 300) continue;
        expectRefusal(answer, 409, "request.create.conflict", "idempotency_conflict");
      }
      const half = CONTENDERS / 2;
      expect(accepted.length === half, rule, `${accepted.length} of ${half} got the request`);
    },
  ),
  scenario(
    "idempotency.lost-response",
    "After a lost answer, a retry of the submission returns its request",
    ["request.create.replay"],
    async (kit) => {
      const rule = "request.create.replay";
      const { token } = await kit.provision();
      for (const lingerMs of [0, LINGER_MS]) {
        const call = { token, key: kit.key(), body: FULL };
        await kit.client.sendAndHangUp("createApprovalRequest", call, lingerMs);
        const first = await kit.call("createApprovalRequest", call);
        const isAnswer = first.status === 201 || first.status === 200;
        expect(isAnswer, rule, `${first.what} after a lost answer`);
        const second = await kit.call("createApprovalRequest", call);
        expectStatus(second, 200, rule);
        const isSame = requestOf(first).id === requestOf(second).id;
        expect(isSame, rule, "sending it again opened another request");
      }
    },
  ),
];
