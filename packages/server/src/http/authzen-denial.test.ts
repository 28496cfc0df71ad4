// Process: own
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTimestamp, parseJson } from "@countersign/protocol";
import type { Context } from "../context.ts";
import { parseAccessRequest } from "../core/access-request.ts";
import { parseQuestion } from "../core/authzen.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { Keyring } from "../secrets/keyring.ts";
import { bindDenial, verifyDenial } from "./authzen-denial.ts";

const CONTEXT = {
  keyring: new Keyring(new Uint8Array(32).fill(7)),
  clock: { now: () => 0 },
} as unknown as Context;

const CALLER = { projectId: "p", instanceId: "i" } as InstanceCaller;

/** As many as fit into a body of the default size. */
const MEMBERS = 30_000;

/** CPU time of this process in ms: other processes do not change it. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

test("[ours.authzen.binding] many members of a context: the check takes about as long as the evaluation", () => {
  const names = Array.from({ length: MEMBERS }, (_, at) => `m${at}`);
  const question = {
    subject: { type: "user", id: "a" },
    action: { name: "pay" },
    resource: { type: "order", id: "1" },
    context: Object.fromEntries(names.map((name) => [name, 1])),
  };
  const startedAt = cpuMs();
  const parsed = parseQuestion(parseJson(JSON.stringify(question)));
  const { bindingToken, expiresAt } = bindDenial(CONTEXT, CALLER, parsed, 0);
  const evaluationMs = cpuMs() - startedAt;
  const denial = { binding_token: bindingToken, expires_at: formatTimestamp(expiresAt) };
  const text = JSON.stringify({ ...question, denial, context: { ...question.context, more: 1 } });
  const submission = parseAccessRequest(parseJson(text), "i");
  const submittedAt = cpuMs();
  const { added, question: denied } = verifyDenial(CONTEXT, CALLER, submission);
  const checkMs = cpuMs() - submittedAt;
  assert.deepEqual([denied.context.size, [...added.keys()]], [MEMBERS, ["more"]]);
  assert.ok(checkMs < 5 * evaluationMs, `${checkMs} ms, the evaluation ${evaluationMs} ms`);
});
