import assert from "node:assert/strict";
import { test } from "node:test";
import type { RuleOutline } from "@countersign/review-api";
import { ruleWords } from "./rule-words.ts";

function wordsOf(rule: Partial<RuleOutline>): string {
  const words = ruleWords({ id: "r", line: 1, verb: "ask", ...rule });
  return words.map((part) => (typeof part === "string" ? part : part.code)).join("");
}

const ASK = { quorum: 1, exclude_owner: false, confirm: "click", note_required: false } as const;

test("a rule reads as a sentence with its calls, condition and requirements", () => {
  for (const [rule, words] of [
    [
      { verb: "deny", tools: ["db.*"], when: 'args.env == "prod"' },
      "Denies calls of db.* when args.env is prod.",
    ],
    [
      { verb: "deny", when: 'has(args.env) && args.env == "prod"' },
      "Denies any call when args.env is prod.",
    ],
    [{ verb: "deny", when: "has(args.env)" }, "Denies any call when has(args.env)."],
    [{ verb: "approve", tools: ["*"] }, "Approves any call."],
    [{ verb: "ask" }, "Asks a reviewer about any call."],
    [
      { verb: "ask", ask: { ...ASK, from: ["group:finance", "reviewer:ana"], quorum: 2 } },
      "Asks 2 reviewers from finance or ana about any call.",
    ],
    [
      { verb: "approve", tools: ["a", "b", "c"], servers: ["pg"], groups: ["bots"] },
      "Approves calls of a, b or c on the server pg from instances in the group bots.",
    ],
    [
      { verb: "approve", when: "args.n > 0 && args.n <= 5", valid_for: "2m" },
      "Approves any call when args.n is more than 0 and args.n is at most 5. " +
        "An approval is valid for 2m.",
    ],
    [
      { verb: "deny", when: 'args.a == "x" || args.b == "y"' },
      'Denies any call when args.a == "x" || args.b == "y".',
    ],
    [
      { verb: "ask", ask: { ...ASK, confirm: "type", note_required: true, exclude_owner: true } },
      "Asks a reviewer about any call. Approvers must type a confirmation and add a note. " +
        "The owner of the instance cannot approve.",
    ],
  ] as const satisfies readonly (readonly [Partial<RuleOutline>, string])[]) {
    assert.equal(wordsOf(rule as Partial<RuleOutline>), words);
  }
});
