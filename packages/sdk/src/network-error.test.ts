import assert from "node:assert/strict";
import { test } from "node:test";
import { causeOf, isNetworkError, isRefused } from "./network-error.ts";

const URL_OF_PROVIDER = "http://127.0.0.1:8787/v1/requests";

function denoError(text: string): TypeError {
  const cause = new Error(`error sending request for url (${URL_OF_PROVIDER}): ${text}`);
  return new TypeError("fetch failed", { cause });
}

function errorWithCode(code: string): Error {
  return Object.assign(new Error(`connect ${code} 127.0.0.1:8787`), { code });
}

interface Case {
  readonly error: unknown;
  readonly cause: string;
  readonly refused: boolean;
}

const REFUSED = "client error (Connect): tcp connect error: Connection refused (os error 111)";
const REFUSED_ON_WINDOWS =
  "client error (Connect): tcp connect error: No connection could be made because the target " +
  "machine actively refused it. (os error 10061)";
const NO_ADDRESS =
  "client error (Connect): dns error: failed to lookup address information: " +
  "Name or service not known";
const CLOSED = "client error (SendRequest): connection closed before message completed";

const CASES: Readonly<Record<string, Case>> = {
  "Node, refused": {
    error: new TypeError("fetch failed", { cause: errorWithCode("ECONNREFUSED") }),
    cause: "ECONNREFUSED",
    refused: true,
  },
  "Node, blocked port": {
    error: new TypeError("fetch failed", { cause: new Error("bad port") }),
    cause: "fetch does not allow this port",
    refused: true,
  },
  "Bun, refused": {
    error: errorWithCode("ECONNREFUSED"),
    cause: "ECONNREFUSED",
    refused: true,
  },
  "Deno, refused": { error: denoError(REFUSED), cause: "ECONNREFUSED", refused: true },
  "Deno on Windows, refused": {
    error: denoError(REFUSED_ON_WINDOWS),
    cause: "ECONNREFUSED",
    refused: true,
  },
  "Deno, no address": { error: denoError(NO_ADDRESS), cause: "ENOTFOUND", refused: true },
  "Deno, blocked port": {
    error: new TypeError("Fetch failed: Requests to port 9 are blocked"),
    cause: "fetch does not allow this port",
    refused: true,
  },
  "Deno, closed": { error: denoError(CLOSED), cause: "connection lost", refused: false },
  "Cloudflare Workers, refused or closed": {
    error: Object.assign(new Error("Network connection lost."), { retryable: true }),
    cause: "connection lost",
    refused: false,
  },
};

for (const [name, { error, cause, refused }] of Object.entries(CASES)) {
  test(`[ours.sdk.client.retries] ${name}: the error of fetch has the cause ${cause}`, () => {
    assert.equal(causeOf(error), cause);
    assert.equal(isRefused(error), refused);
    assert.equal(isNetworkError(error), true);
  });
}
