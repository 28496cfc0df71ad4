import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseReturnPath } from "./return-path.ts";

test("[ours.oidc.return] a path of this server is accepted as the return path", () => {
  for (const path of ["/", "/inbox", "/requests/1?tab=a&b=c#end", "/a%2Fb", "/a//b", "/~x/."]) {
    assert.ok(parseReturnPath(path) !== undefined, path);
  }
  assert.equal(parseReturnPath("/inbox?a=b#c"), "/inbox?a=b#c");
});

test("[ours.oidc.return] the server rejects a path that could lead to another site", () => {
  const hostile = [
    "",
    "inbox",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/\t/evil.example",
    "/\n/evil.example",
    "/..//evil.example",
    "/.//evil.example",
    "/a/..//evil.example",
    "/%2e%2e//evil.example",
    "/ /evil.example",
    "/\u0000/evil.example",
    "/a\u202Eb",
    `/${"a".repeat(2_000)}`,
    "/review/v1/session/oidc",
    "/Review/v1",
    "/a/../review/v1/session",
    "/v1/requests",
  ];
  for (const path of hostile) assert.equal(parseReturnPath(path), undefined, JSON.stringify(path));
});

test("[ours.oidc.return] an accepted path stays on this server in every URL parser", () => {
  const piece = fc.constantFrom(..."/\\.:@?#%a2e ".split(""), "//", "..", "evil.example", "http:");
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join("")}`);
  fc.assert(
    fc.property(text, (given) => {
      const path = parseReturnPath(given);
      if (path === undefined) return;
      const url = new URL(path, "https://countersign.example/review/v1/session/oidc/callback");
      assert.equal(url.origin, "https://countersign.example", given);
    }),
    { numRuns: 5_000 },
  );
});
