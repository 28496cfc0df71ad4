/**
 * Requests for people: a card for one, a table for many.
 */

import type { ReviewedRequest } from "./review-client.ts";
import { excerpt, layOutJson, visibleText } from "./visible-text.ts";

/** @param now the server's time, epoch ms */
export function renderCard(request: ReviewedRequest, now: number): string {
  const { instance, reasoning, contextText } = request;
  const parts = [
    `request    ${request.id}`,
    `status     ${renderStatus(request, now)}`,
    `tool       ${visibleText(request.tool)}`,
    `instance   ${visibleText(instance.name)}  ${instance.id}`,
    `created    ${request.createdAt}`,
    `arguments  sha256 ${request.argumentsSha256}`,
    indent(layOutJson(request.argumentsText)),
  ];
  if (contextText !== undefined) {
    parts.push("context    observed by the adapter", indent(layOutJson(contextText)));
  }
  if (reasoning !== undefined) {
    const lines = reasoning.split("\n").map((line) => `> ${visibleText(line)}`);
    parts.push("reasoning  claim by the agent, not verified", indent(lines.join("\n")));
  }
  if (request.decision?.note !== undefined) {
    parts.push(`note       ${visibleText(request.decision.note)}`);
  }
  return parts.join("\n");
}

function renderStatus({ status, deadlineAt, decision }: ReviewedRequest, now: number): string {
  if (decision === undefined) return `${status}, ${timeLeft(deadlineAt, now)} left`;
  const by = decision.by === undefined ? "" : ` by ${decision.by}`;
  const until = decision.expiresAt === undefined ? "" : `, usable until ${decision.expiresAt}`;
  return `${status}${by} at ${decision.decidedAt}${until}`;
}

const ID_COLUMNS = 36;
const LEFT_COLUMNS = 9;
const TOOL_COLUMNS = 28;
const INSTANCE_COLUMNS = 22;

/** @param columns width of the terminal; arguments fill what the other columns leave */
export function renderTable(
  requests: readonly ReviewedRequest[],
  now: number,
  columns: number,
): string {
  const fixed = ID_COLUMNS + LEFT_COLUMNS + TOOL_COLUMNS + INSTANCE_COLUMNS + 8;
  const argumentColumns = Math.max(20, columns - fixed);
  const row = (id: string, left: string, tool: string, instance: string, args: string) =>
    [
      id.padEnd(ID_COLUMNS),
      left.padEnd(LEFT_COLUMNS),
      excerpt(tool, TOOL_COLUMNS).padEnd(TOOL_COLUMNS),
      excerpt(instance, INSTANCE_COLUMNS).padEnd(INSTANCE_COLUMNS),
      excerpt(args, argumentColumns),
    ].join("  ");
  const rows = requests.map((request) => {
    const { id, tool, instance, argumentsText, status, decision, deadlineAt } = request;
    const left = decision === undefined ? timeLeft(deadlineAt, now) : status;
    return row(id, left, tool, instance.name, argumentsText);
  });
  return [row("REQUEST", "LEFT", "TOOL", "INSTANCE", "ARGUMENTS"), ...rows].join("\n");
}

/** Two largest units, like `4m 51s` or `6d 23h`. */
export function timeLeft(deadlineAt: string, now: number): string {
  const seconds = Math.max(0, Math.floor((Date.parse(deadlineAt) - now) / 1000));
  const [d, h, m, s] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  if (d) return `${d}d ${h}h`;
  if (h) return `${h}h ${m}m`;
  return m ? `${m}m ${s}s` : `${s}s`;
}

function indent(text: string): string {
  return text.replace(/^/gm, "  ");
}
