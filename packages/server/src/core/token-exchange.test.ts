import assert from "node:assert/strict";
import { test } from "node:test";
import { ExchangeRefusal, parseTokenExchange } from "./token-exchange.ts";

const GRANT = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange";
const TYPE = "subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3A";

test("[ours.workload.protocol] the parameters of RFC 8693 are parsed, and unknown ones ignored", () => {
  const form = `${GRANT}&${TYPE}jwt&subject_token=a.b.c&audience=ci&x=1&x=2`;
  assert.deepEqual(parseTokenExchange(form), { subjectToken: "a.b.c", audience: "ci" });
  const other = `${GRANT}&${TYPE}id_token&subject_token=a&audience=`;
  assert.deepEqual(parseTokenExchange(other), { subjectToken: "a", audience: undefined });
});

const REFUSED: readonly (readonly [string, string])[] = [
  ["", "invalid_request"],
  ["grant_type=password", "unsupported_grant_type"],
  [`${GRANT}&subject_token=a`, "invalid_request"],
  [`${GRANT}&${TYPE}jwt`, "invalid_request"],
  [`${GRANT}&${TYPE}jwt&subject_token=a&subject_token=a`, "invalid_request"],
  [`${GRANT}&${TYPE}jwt&subject_token=${"a".repeat(16_385)}`, "invalid_request"],
  [`${GRANT}&${TYPE}jwt&subject_token=a&requested_token_type=b`, "invalid_request"],
  [`${GRANT}&${TYPE}jwt&subject_token=a&actor_token_type=b`, "invalid_request"],
  [`${GRANT}&${TYPE}jwt&subject_token=a&resource=b`, "invalid_target"],
  [`${GRANT}&${TYPE}jwt&subject_token=a&scope=b`, "invalid_scope"],
];

for (const [form, code] of REFUSED) {
  test(`[ours.workload.protocol] the form ${form.slice(0, 200)} is rejected as ${code}`, () => {
    try {
      parseTokenExchange(form);
    } catch (error) {
      assert.ok(error instanceof ExchangeRefusal);
      assert.equal(error.code, code);
      // RFC 6749, section 5.2: the characters of error_description.
      assert.match(error.message, /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/);
      return;
    }
    assert.fail("the form was accepted");
  });
}
