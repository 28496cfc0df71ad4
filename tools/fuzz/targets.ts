/**
 * The fuzzing targets and their invariants for every input. http-targets.ts has the targets that
 * need a server.
 */

import assert from "node:assert/strict";
import { isIP } from "node:net";
import {
  canonicalJson,
  equalJson,
  formatDuration,
  formatTimestamp,
  JsonArray,
  JsonObject,
  Problem,
  parseDuration,
  parseIdentifier,
  parseJson,
  parseJsonBytes,
  parseSigningSecret,
  parseTimestamp,
  parseWebhookUrl,
} from "@countersign/protocol";
import fc from "fast-check";
import {
  isPublicAddress,
  parseAddress,
  parseCidr,
} from "../../packages/server/src/core/address.ts";
import { normalizeLogin } from "../../packages/server/src/core/login.ts";
import { parseRetryAfter } from "../../packages/server/src/core/retry.ts";
import { parseReturnPath } from "../../packages/server/src/core/return-path.ts";
import { sessionCookie } from "../../packages/server/src/http/session-cookie.ts";
import { ConditionError, compileCondition } from "../../packages/server/src/policy/condition.ts";
import { evaluatePolicies } from "../../packages/server/src/policy/evaluate.ts";
import { loadPolicy, PolicyError } from "../../packages/server/src/policy/load.ts";
import { callOf } from "../../packages/server/src/policy/policy-fixture.ts";
import { isWellFormedToken } from "../../packages/server/src/secrets/token.ts";
import { inputsOf, jsonTexts } from "./inputs.ts";
import { policiesOf } from "./policies.ts";

export interface Target {
  readonly name: string;
  readonly inputs: fc.Arbitrary<string>;
  /** @throws when what must hold does not */
  check(input: string): void | Promise<void>;
  /** Time limit for one input, ms (100 when absent). */
  readonly slowMs?: number;
  /** Closes what it opened. */
  end?(): Promise<void>;
}

/** @returns undefined when it is refused as it should be */
function accepted<T>(read: () => T, refusal: new (...all: never[]) => Error): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof refusal) return undefined;
    throw error;
  }
}

const encoder = new TextEncoder();
const SURROGATE = /\\u[dD][89a-fA-F]/;

/** Against the parser of the language: stricter, and never of another opinion. */
function checkJson(text: string): void {
  let native: unknown;
  let isNative = true;
  try {
    native = JSON.parse(text);
  } catch {
    isNative = false;
  }
  let value: ReturnType<typeof parseJson>;
  try {
    value = parseJson(text);
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    assert.ok(error.message.length < 1_000);
    // A text that the other parser accepts is refused only if parsers could disagree about it.
    const isReason = error.code !== "invalid_json" || SURROGATE.test(text) || !text.isWellFormed();
    assert.ok(!isNative || isReason, `refused: ${error.message}`);
    return;
  }
  assert.ok(isNative, "accepted invalid JSON");
  assert.equal(Array.isArray(native), value instanceof JsonArray);
  if (value instanceof JsonObject || value instanceof JsonArray) {
    assert.equal(value.source, text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, ""));
  }
  const again = parseJsonBytes(encoder.encode(text));
  assert.ok(equalJson(value, again));
  assert.equal(canonicalJson(value), canonicalJson(again));
}

function checkUrl(text: string): void {
  const url = parseWebhookUrl(text);
  if (url === undefined) return;
  const { hostname, protocol, username, password, hash, port } = new URL(text);
  assert.deepEqual([protocol, username, password, hash], ["https:", "", "", ""]);
  assert.equal(hostname.replace(/^\[|\]$/g, ""), url.host);
  assert.equal(port, url.port === 443 ? "" : String(url.port));
  assert.equal(url.isAddress, isIP(url.host) !== 0);
  assert.ok(text.endsWith(url.path) || url.path === "/" || url.path.startsWith("/?"), url.path);
  assert.doesNotMatch(url.path + url.authority, /[\s\p{C}]/u);
}

function checkTimes(text: string): void {
  const ms = parseDuration(text);
  if (ms !== undefined) {
    assert.match(text, /^[1-9][0-9]*[smh]$/);
    assert.ok(ms > 0);
    // Beyond that it is shortened wherever it counts.
    if (Number.isSafeInteger(ms)) assert.equal(parseDuration(formatDuration(ms)), ms);
  }
  const at = parseTimestamp(text);
  if (at !== undefined) assert.equal(parseTimestamp(formatTimestamp(at)), at);
  const wait = parseRetryAfter(text, 1_767_225_600_000);
  if (wait !== undefined) assert.ok(Number.isFinite(wait) && wait >= 0, String(wait));
}

const ORIGIN = "https://approve.example.com";

function checkHeaders(text: string): void {
  isWellFormedToken(text);
  const cookie = sessionCookie({ headers: { cookie: text } });
  if (cookie !== undefined) assert.ok(text.includes("__Host-countersign"));
  const path = parseReturnPath(text);
  if (path !== undefined) {
    assert.equal(new URL(path, ORIGIN).origin, ORIGIN);
    assert.equal(new URL(ORIGIN + path).origin, ORIGIN);
  }
  const login = normalizeLogin(text);
  if (login !== undefined) assert.equal(normalizeLogin(login), login);
  const id = parseIdentifier(text);
  if (id !== undefined) assert.equal(id, text.toLowerCase());
}

function checkAddress(text: string): void {
  const bytes = parseAddress(text);
  // The platform also accepts zones. This parser does not.
  if (isIP(text) === 0 || text.includes("%")) assert.equal(bytes, undefined);
  else assert.equal(bytes?.length, isIP(text) === 4 ? 4 : 16);
  if (isPublicAddress(text)) assert.ok(bytes);
  parseCidr(text);
}

function checkSecret(text: string): void {
  const key = parseSigningSecret(text);
  if (key === undefined) return;
  assert.equal(key.length, 32);
  assert.equal(`whsec_${Buffer.from(key).toString("base64")}`, text);
}

const CALL = callOf({
  args:
    '{"s":"text","n":5,"big":9007199254740993,"l":[1,2,3],"m":{"a":{"b":true}},"f":0.1,' +
    '"z":null}',
  context: '{"cwd":"/srv"}',
});

function checkPolicy(source: string): void {
  const policy = accepted(() => loadPolicy(source, { kind: "project" }), PolicyError);
  if (policy === undefined) return;
  const { verb } = evaluatePolicies({ project: policy }, CALL);
  const approves = policy.rules.some((rule) => rule.verb === "approve");
  assert.ok(verb !== "approve" || approves, "approved by a policy without such a rule");
}

function checkCondition(source: string): void {
  const condition = accepted(() => compileCondition(source), ConditionError);
  if (condition === undefined) return;
  const quoted = JSON.stringify(source).replaceAll("\u2028", "\\u2028");
  const rule = `{ id: a, match: { tool: "*" }, when: ${quoted}, then: deny }`;
  checkPolicy(`version: 1\nrules:\n  - ${rule}\n`);
}

const operands = fc.constantFrom(
  "args.s",
  "args.n",
  "args.big",
  "args.l",
  "args.m.a.b",
  "args.missing",
  "args.f",
  "args.z",
  "tool",
  "instance.name",
  "instance.groups",
  "context.cwd",
  "now",
  "1",
  "-1",
  "0.5",
  "9u",
  '"text"',
  "b'x'",
  "[1, 2]",
  "{'a': 1}",
  "null",
  "true",
  'duration("5m")',
  "1e308",
);
const expressions: fc.Arbitrary<string> = fc.letrec<{ e: string }>((tie) => ({
  e: fc.oneof(
    { maxDepth: 6 },
    operands,
    fc
      .tuple(
        tie("e"),
        fc.constantFrom("==", "!=", "<", ">=", "+", "-", "*", "/", "%", "in"),
        tie("e"),
      )
      .map((parts) => parts.join(" ")),
    fc.tuple(tie("e"), fc.constantFrom("&&", "||"), tie("e")).map((parts) => parts.join(" ")),
    fc.tuple(tie("e"), tie("e"), tie("e")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    tie("e").map((e) => `!(${e})`),
    fc
      .tuple(fc.constantFrom("size", "has", "int", "double", "string", "type"), tie("e"))
      .map(([f, e]) => `${f}(${e})`),
    fc
      .tuple(tie("e"), fc.constantFrom("exists", "all", "filter", "map", "exists_one"), tie("e"))
      .map(([list, macro, e]) => `${list}.${macro}(x, ${e})`),
    fc
      .tuple(tie("e"), fc.constantFrom("startsWith", "contains", "matches"), tie("e"))
      .map(([s, f, e]) => `${s}.${f}(${e})`),
    fc
      .tuple(operands, fc.string({ maxLength: 30 }))
      .map(([s, g]) => `glob(${s}, ${JSON.stringify(g)})`),
  ),
})).e;

const hosts = fc.oneof(
  fc.domain(),
  fc.ipV4(),
  fc.ipV4Extended(),
  fc.ipV6().map((address) => `[${address}]`),
  fc.constantFrom("localhost", "127.1", "0x7f.1", "xn--n3h.com", "[::ffff:7f00:1]", "a_b.com"),
);
const urls = fc
  .tuple(
    fc.constantFrom("https://", "http://", "HTTPS://", "https:/", "https:", "//"),
    fc.option(fc.constantFrom("user@", ":@", "@", "a:b@"), { nil: "" }),
    hosts,
    fc.constantFrom("", ":443", ":0443", ":22", ":65536", ":", ":8443"),
    fc.webPath(),
    fc.option(fc.webQueryParameters(), { nil: "" }),
    fc.constantFrom("", "#", "#x"),
  )
  .map(([scheme, user, host, port, path, query, hash]) =>
    [scheme, user, host, port, path, query && `?${query}`, hash].join(""),
  );

const times = fc.oneof(
  fc.tuple(fc.nat(), fc.constantFrom("s", "m", "h", "ms", "d", "S", "")).map((all) => all.join("")),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  fc.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,12})?(Z|[+-]\d\d:\d\d)$/),
);

const addresses = fc.oneof(fc.ipV4(), fc.ipV4Extended(), fc.ipV6());

/** Grammars by the name of the target. */
export const TARGETS: readonly Target[] = [
  { name: "json", inputs: inputsOf("json", jsonTexts), check: checkJson },
  { name: "times", inputs: inputsOf("times", times), check: checkTimes },
  { name: "url", inputs: inputsOf("url", urls), check: checkUrl },
  { name: "address", inputs: inputsOf("address", addresses), check: checkAddress },
  { name: "headers", inputs: inputsOf("headers", fc.webUrl()), check: checkHeaders },
  { name: "signature", inputs: inputsOf("signature", fc.base64String()), check: checkSecret },
  { name: "condition", inputs: inputsOf("condition", expressions), check: checkCondition },
  {
    name: "policy",
    inputs: inputsOf("policy", policiesOf(expressions)),
    check: checkPolicy,
    // Read in a thread of its own, which is stopped after ten seconds.
    slowMs: 2_000,
  },
];
