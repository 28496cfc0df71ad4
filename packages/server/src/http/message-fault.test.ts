import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { assertNotRepeated, findMessageFault, type MessageFault } from "./message-fault.ts";

type Pairs = readonly (readonly [name: string, value: string])[];

/** As Node's parser hands them on: of names that are there twice, `headers` has one value. */
function faultOf(pairs: Pairs, httpVersion = "1.1"): MessageFault | undefined {
  const headers = Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value]));
  return findMessageFault({ headers, httpVersion, rawHeaders: pairs.flat() } as IncomingMessage);
}

function assertFault(
  fault: MessageFault | undefined,
  isUnframed: boolean,
  problem: {
    readonly param: string | undefined;
    readonly message?: string;
    readonly code?: string;
  },
): void {
  assert.equal(fault?.isUnframed, isUnframed);
  const { code, param, message } = fault?.problem ?? {};
  const text = problem.message ?? message;
  const expected = { code: problem.code ?? "invalid_request", param: problem.param, message: text };
  assert.deepEqual({ code, param, message }, expected);
}

const HOST = ["Host", "localhost"] as const;

test("[ours.exchange.one-reading] an unambiguous message has no fault", () => {
  const each = ["Authorization", "Idempotency-Key", "Content-Type", "Content-Encoding"];
  const once = each.map((name) => [name, "a"] as const);
  for (const pairs of [[HOST], [HOST, ...once], [...once, HOST]]) {
    assert.equal(faultOf(pairs), undefined);
    assertNotRepeated({ rawHeaders: pairs.flat() } as IncomingMessage, ...each);
  }
  for (const coding of ["chunked", "Chunked"]) {
    assert.equal(faultOf([HOST, ["Transfer-Encoding", coding]]), undefined, coding);
  }
  assert.equal(faultOf([], "1.0"), undefined, "HTTP/1.0 knows no Host");
});

test("[ours.exchange.one-reading] headers that may be there twice have no fault, also those as long as one that may not", () => {
  for (const name of ["Accept", "Via", "X-Id", "X-Authorize-X", "Cookie"]) {
    const twice = [name, "a"] as const;
    assert.equal(faultOf([HOST, twice, twice]), undefined, name);
  }
});

test("[ours.exchange.one-reading] a coding other than chunked, or one of HTTP/1.0, leaves no end of the message", () => {
  const message = "Transfer-Encoding must be chunked, in HTTP/1.1.";
  for (const coding of ["gzip", "gzip, chunked", "chunked, identity", "", "xchunked"]) {
    const fault = faultOf([HOST, ["Transfer-Encoding", coding]]);
    assertFault(fault, true, { param: "Transfer-Encoding", message });
  }
  const old = faultOf([HOST, ["Transfer-Encoding", "chunked"]], "1.0");
  assertFault(old, true, { param: "Transfer-Encoding", message });
});

test("[ours.exchange.one-reading] HTTP/1.1 names its host", () => {
  const fault = faultOf([["Accept", "*/*"]]);
  assertFault(fault, false, { param: "Host", message: "The header Host is required." });
});

test("[ours.exchange.one-reading] a repeated Host is a fault of its name, a repeated Authorization one of the caller", () => {
  const message = "The header Host must be given once.";
  for (const again of ["Host", "host", "HOST"]) {
    const fault = faultOf([HOST, ["Accept", "b"], [again, "a"]]);
    assertFault(fault, false, { param: "Host", message });
  }
  // Link is as long as Host and may be repeated; the check continues with the headers after it.
  const link = ["Link", "<a>"] as const;
  const behind = faultOf([link, link, HOST, link, HOST]);
  assertFault(behind, false, { param: "Host", message: "The header Host must be given once." });
  const credential = ["authorization", "Bearer a"] as const;
  const twice = faultOf([HOST, credential, credential]);
  assertFault(twice, false, { param: undefined, code: "invalid_credential" });
});

test("[ours.exchange.one-reading] a repeated header of the body or key is rejected only by routes that read it", () => {
  for (const name of ["Idempotency-Key", "Content-Type", "Content-Encoding"]) {
    for (const again of [name, name.toLowerCase(), name.toUpperCase()]) {
      const pairs: Pairs = [HOST, [name, "a"], ["Accept", "b"], [again, "a"]];
      assert.equal(faultOf(pairs), undefined, name);
      const message = { rawHeaders: pairs.flat() } as IncomingMessage;
      assert.throws(() => assertNotRepeated(message, "Host", name), {
        code: "invalid_request",
        param: name,
        message: `The header ${name} must be given once.`,
      });
    }
  }
});
