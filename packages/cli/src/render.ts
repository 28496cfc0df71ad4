/**
 * Requests for people: a card for one, a table for many.
 */

import { hasConfusables } from "@countersign/protocol";
import { isJudged, renderAsked, shortCause, shortNeeds } from "./asked.ts";
import type { ReviewedRequest } from "./review-client.ts";
import { excerpt, layOutJson, visibleText } from "./visible-text.ts";

/** @param now the server's time, epoch ms */
export function renderCard(request: ReviewedRequest, now: number): string {
  const { instance, reasoning, contextText, asked, decision } = request;
  const parts = [
    `request    ${request.id}`,
    `status     ${renderStatus(request, now)}`,
    `tool       ${visibleText(request.tool)}`,
    ...(request.server === undefined ? [] : [`server     ${visibleText(request.server)}`]),
    `instance   ${visibleText(instance.name)}  ${instance.id}`,
    `created    ${request.createdAt}`,
    ...(asked === undefined ? [] : renderAsked(asked, decision === undefined)),
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
  const texts = [request.tool, request.server ?? "", instance.name, request.argumentsText];
  if ([...texts, contextText ?? "", reasoning ?? ""].some(hasConfusables)) {
    parts.push(
      "warning    characters that look like others are written as code points, such as \\u{0430}",
    );
  }
  if (decision?.note !== undefined) parts.push(`note       ${visibleText(decision.note)}`);
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
const SERVER_COLUMNS = 16;
const INSTANCE_COLUMNS = 22;
const CAUSE_COLUMNS = 20;
const NEEDS_COLUMNS = 24;

/**
 * Why requests came to people and what they need is told where policy had something to say, and
 * whose tool it is where one of them says so.
 *
 * @param columns width of the terminal; arguments fill what the other columns leave
 */
export function renderTable(
  requests: readonly ReviewedRequest[],
  now: number,
  columns: number,
): string {
  const isAsked = requests.some(({ asked }) => isJudged(asked));
  const isNamed = requests.some(({ server }) => server !== undefined);
  const widths = [
    ID_COLUMNS,
    LEFT_COLUMNS,
    TOOL_COLUMNS,
    ...(isNamed ? [SERVER_COLUMNS] : []),
    INSTANCE_COLUMNS,
    ...(isAsked ? [CAUSE_COLUMNS, NEEDS_COLUMNS] : []),
  ];
  const fixed = widths.reduce((sum, width) => sum + width + 2, 0);
  const last = Math.max(20, columns - fixed);
  const row = (...cells: readonly string[]) => {
    const shown = cells.map((cell, i) => excerpt(cell, widths[i] ?? last));
    return shown.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ");
  };
  const rows = requests.map((request) => {
    const { id, tool, server, instance, argumentsText, asked } = request;
    const { status, decision, deadlineAt } = request;
    const left = decision === undefined ? timeLeft(deadlineAt, now) : status;
    const needs = decision === undefined ? shortNeeds(asked) : "";
    const why = isAsked ? [shortCause(asked), needs] : [];
    const of = isNamed ? [server ?? ""] : [];
    return row(id, left, tool, ...of, instance.name, ...why, argumentsText);
  });
  const why = isAsked ? ["BECAUSE", "NEEDS"] : [];
  const of = isNamed ? ["SERVER"] : [];
  const head = row("REQUEST", "LEFT", "TOOL", ...of, "INSTANCE", ...why, "ARGUMENTS");
  return [head, ...rows].join("\n");
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
