/**
 * A policy of 200 rules for the tool call of messages.ts: most are about other tools, sixty read
 * its arguments and do not fire, the last one approves it.
 */

export const RULES = 200;

const CONDITION_RULES = 60;

export function policyOfManyRules(): string {
  const rules = Array.from({ length: RULES - 1 }, (_, i) =>
    i < CONDITION_RULES ? conditionRule(i) : other(i),
  );
  return `version: 1\nrules:\n${[...rules, APPROVES].join("")}`;
}

function conditionRule(i: number): string {
  const match = i % 2 === 0 ? "payments.*" : "*.refund";
  const condition =
    i % 3 === 0
      ? `args.amount > ${1_000_000 + i} && args.currency == 'EUR'`
      : `args.lines.exists(line, line.sku == 'X-${i}') || args.account.startsWith('test_${i}')`;
  return rule(`looking-${i}`, match, condition, i % 5 === 0 ? "deny" : "ask");
}

function other(i: number): string {
  return rule(`other-${i}`, `tool-${i}.*`, `args.amount < ${i}`, i % 2 === 0 ? "approve" : "deny");
}

const APPROVES = rule(
  "small-refunds",
  "payments.refund",
  "args.amount < 200000 && args.currency in ['EUR', 'USD'] && args.lines.all(l, l.quantity < 10)",
  "approve",
);

function rule(id: string, tool: string, condition: string, verb: string): string {
  return `  - { id: ${id}, match: { tool: "${tool}" }, when: "${condition}", then: ${verb} }\n`;
}
