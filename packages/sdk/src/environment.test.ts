import assert from "node:assert/strict";
import { test } from "node:test";
import { isProduction, readEnvironment } from "./environment.ts";

/** Like `process.env` of Deno without the permission to read it. */
function forbidden() {
  const read = (_: object, name: string | symbol) => {
    throw new Error(`Requires env access to "${String(name)}", run again with --allow-env`);
  };
  return { process: { env: new Proxy({}, { get: read }) } };
}

test("[ours.sdk.runtimes] without the permission to read a variable, the error names the flag", () => {
  assert.throws(() => readEnvironment("COUNTERSIGN_URL", forbidden()), {
    code: "invalid_option",
    message:
      "This program has no permission to read the environment variable COUNTERSIGN_URL. " +
      "Start Deno with --allow-env=COUNTERSIGN_URL,COUNTERSIGN_API_KEY.",
  });
  assert.throws(() => isProduction(forbidden()), {
    code: "invalid_option",
    message:
      "This program has no permission to read the environment variable NODE_ENV. " +
      "Start Deno with --allow-env=NODE_ENV.",
  });
});

test("[ours.sdk.runtimes] a runtime without process has no variables", () => {
  assert.equal(readEnvironment("COUNTERSIGN_URL", {}), undefined);
  assert.equal(isProduction({}), false);
});
