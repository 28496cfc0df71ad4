/** A rule for calls like a given one, with a test. Pure. */

import { escapeGlob, type RuleText } from "@countersign/review-api/policy-text";
import { type Choice, closedCondition, openCondition } from "./terms.ts";

export interface RuleOrder extends Choice {
  readonly requestId: string;
  readonly tool: string;
  readonly server: string | undefined;
  readonly argumentsText: string;
  readonly verdict: "approve" | "deny";
}

export interface NewRule extends RuleText {
  readonly id: string;
  readonly test: readonly string[];
}

/** Printable letters as they are, all others as escapes, which YAML reads. */
function yamlText(text: string): string {
  const escaped = JSON.stringify(text);
  return escaped.replaceAll(/[^ -~]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function yamlQuoted(ascii: string): string {
  return `'${ascii.replaceAll("'", "''")}'`;
}

function targetOf(tool: string, server: string | undefined): string[] {
  const target = [`tool: ${yamlText(tool)}`];
  if (server !== undefined) target.push(`server: ${yamlText(server)}`);
  return target;
}

export function ruleFor(order: RuleOrder): NewRule {
  const { requestId, tool, server, argumentsText, verdict } = order;
  const word = tool.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const name = word.slice(0, 40).replaceAll(/^-+|-+$/g, "") || "call";
  const id = `${verdict}-${name}-${requestId.slice(-10, -4)}`;
  const target = targetOf(tool, server);
  const pattern = targetOf(escapeGlob(tool), server && escapeGlob(server));
  const condition = verdict === "deny" ? openCondition(order) : closedCondition(order);
  // A line break in JSON is never in a string.
  const args = argumentsText.replaceAll(/\s*[\r\n]+\s*/g, " ");
  return {
    id,
    rule: [
      `- id: ${id}`,
      `  match: { ${pattern.join(", ")} }`,
      ...(condition === undefined ? [] : [`  when: ${yamlQuoted(condition)}`]),
      `  then: ${verdict}`,
    ],
    test: [
      `- name: ${yamlText(`the call of request ${requestId.slice(0, -4)}`)}`,
      `  given: { ${[...target, `args: ${args}`].join(", ")} }`,
      `  expect: { then: ${verdict}, because: ${id} }`,
    ],
  };
}
