import assert from "node:assert/strict";
import test from "node:test";
import { Problem, parseJson } from "@countersign/protocol";
import { type AccessRequest, parseAccessRequest, parseCancellation } from "./access-request.ts";

const QUESTION = {
  subject: { type: "user", id: "a" },
  action: { name: "pay" },
  resource: { type: "order", id: "1" },
};

function read(fields: object): AccessRequest {
  return parseAccessRequest(parseJson(JSON.stringify({ ...QUESTION, ...fields })), "me");
}

test("[ours.authzen.request] a denial without a text is incomplete, and no denial is undefined", () => {
  assert.equal(read({}).denial, undefined);
  assert.deepEqual(read({ denial: { binding_token: 1 } }).denial, {
    bindingToken: undefined,
    expiresAt: undefined,
  });
  const denial = { binding_token: "t", expires_at: "e", reason: "r" };
  assert.deepEqual(read({ denial }).denial, { bindingToken: "t", expiresAt: "e" });
});

test("[ours.authzen.request] requested_access and client are kept with their texts", () => {
  const { extras } = read({ client: { actor: { id: "me" } }, requested_access: { a: 1 } });
  assert.deepEqual([...extras.keys()], ["requested_access", "client"]);
});

test("[ours.authzen.unsupported] unsupported parts and other actors are problems", () => {
  const cases: readonly (readonly [object, string, string])[] = [
    [{ items: [] }, "invalid_request", "items"],
    [{ callback: {} }, "invalid_request", "callback"],
    [{ client: { actor: { id: "you" } } }, "forbidden", "client.actor"],
    [{ client: { actor: {} } }, "forbidden", "client.actor"],
    [{ client: { actor: { id: "me", act: {} } } }, "forbidden", "client.actor"],
    [{ client: { actor: 1 } }, "invalid_request", "client.actor"],
    [{ denial: 1 }, "invalid_request", "denial"],
  ];
  for (const [fields, code, param] of cases) {
    assert.throws(
      () => read(fields),
      (error) => error instanceof Problem && error.code === code && error.param === param,
    );
  }
});

test("[ours.authzen.cancel] a cancellation has texts", () => {
  parseCancellation(parseJson('{"reason":"r","comment":"c","other":1}'));
  for (const text of ["1", '{"reason":1}', '{"comment":null}']) {
    assert.throws(() => parseCancellation(parseJson(text)), Problem);
  }
});
