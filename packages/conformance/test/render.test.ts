import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Report,
  renderJson,
  renderJunit,
  renderOutcome,
  renderSummary,
  type ScenarioOutcome,
} from "@countersign/conformance";

const PASSED: ScenarioOutcome = {
  id: "read.current",
  title: "A read answers the request as it is now",
  requirements: ["request.read"],
  outcome: "passed",
  durationMs: 12,
};
const FAILED: ScenarioOutcome = {
  ...PASSED,
  id: "cancel.repeat",
  outcome: "failed",
  violated: "request.cancel.repeat",
  reason: 'it says <b>"no" & more</b>\u001b[2J\u202e',
};
const UNTESTED: ScenarioOutcome = {
  ...PASSED,
  id: "decide.deny",
  outcome: "not_tested",
  reason: "x",
};

const REPORT: Report = {
  baseUrl: "https://a.example/p?x=<1>",
  startedAt: "2026-01-02T03:04:05.678Z",
  durationMs: 1_234,
  passed: 1,
  failed: 1,
  notTested: 1,
  notApplicable: 0,
  leftBehind: ["an-id"],
  scenarios: [PASSED, FAILED, UNTESTED],
  requirements: [
    { id: "a.b", source: "S, 1", text: "T.", outcome: "failed", scenarios: [], reason: "why" },
    { id: "a.c", source: "S, 2", text: "U.", outcome: "untestable", scenarios: [], reason: "no" },
  ],
};

test("[ours.conformance.report] the text report contains the rule and the reason, and no control character", () => {
  assert.match(renderOutcome(PASSED), /^ok +read\.current$/);
  const failed = renderOutcome(FAILED);
  assert.match(failed, /^FAILED +cancel\.repeat\n.*rule: .*\n.*broken: request\.cancel\.repeat\n/);
  assert.match(failed, /\\u\{1b\}\[2J\\u\{202e\}$/);
  assert.match(renderOutcome(UNTESTED), /^untested +decide\.deny\n +x$/);
  const summary = renderSummary(REPORT);
  assert.match(summary, /Broken requirements:\n {2}a\.b \(S, 1\)\n {4}T\.\n {4}why\n/);
  assert.match(summary, /3 scenarios in 1\.2 s: 1 passed, 1 failed, 1 not tested, 0 not/);
  assert.match(summary, /instance an-id/);
});

test("[ours.conformance.report] JUnit has a case for each scenario and escapes any text", () => {
  const text = renderJunit(REPORT);
  assert.equal([...text.matchAll(/<testcase /g)].length, 3);
  assert.match(
    text,
    /<testsuite name="https:\/\/a\.example\/p\?x=&lt;1&gt;".* tests="3" failures="1"/,
  );
  assert.match(text, /<failure message="request\.cancel\.repeat: it says &lt;b&gt;&quot;no&quot;/);
  assert.match(text, /<skipped message="x"\/>/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  assert.doesNotMatch(text, /[\u0000-\u0008\u000b-\u001f]/);
});

test("[ours.conformance.report] JSON contains its format and all results", () => {
  const json = JSON.parse(renderJson(REPORT)) as Record<string, unknown>;
  assert.deepEqual(
    [json.form, json.base_url, json.passed, json.failed, json.not_tested, json.duration_ms],
    [1, REPORT.baseUrl, 1, 1, 1, 1_234],
  );
  assert.equal((json.scenarios as readonly object[]).length, 3);
  assert.deepEqual(json.left_behind, ["an-id"]);
});
