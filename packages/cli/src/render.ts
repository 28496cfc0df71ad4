/**
 * Requests for people: a card for one, a table for many.
 */

import { createHash } from "node:crypto";
import { hasConfusables } from "@countersign/protocol";
import { exactText, type ReviewedRequest } from "@countersign/review-api";
import { isJudged, renderRequirement, shortCause, shortNeeds } from "./render-requirement.ts";
import { renderToolChange } from "./render-tool-change.ts";
import { excerpt, layOutJson, visibleText } from "./visible-text.ts";

/** @param now the server's time, in milliseconds since 1970 */
export function renderCard(request: ReviewedRequest, now: number): string {
  const { tool, server = "", instance, agent_reasoning: reasoning = "", decision } = request;
  const args = exactText(request.arguments);
  const context = request.context === undefined ? "" : exactText(request.context);
  const parts = [
    `request    ${request.id}`,
    `status     ${renderStatus(request, now)}`,
    `tool       ${visibleText(tool)}`,
    ...(server === "" ? [] : [`server     ${visibleText(server)}`]),
    `instance   ${visibleText(instance.name)}  ${instance.id}`,
    `created    ${request.created_at}`,
    ...renderRequirement(request),
    `arguments  sha256 ${argumentsSha256(request)}`,
    indent(layOutJson(args)),
  ];
  parts.push(...renderToolChange(request));
  if (context !== "") {
    parts.push("context    observed by the adapter", indent(layOutJson(context)));
  }
  if (reasoning !== "") {
    const lines = reasoning.split("\n").map((line) => `> ${visibleText(line)}`);
    parts.push("reasoning  claim by the agent, not verified", indent(lines.join("\n")));
  }
  if ([tool, server, instance.name, args, context, reasoning].some(hasConfusables)) {
    parts.push(
      "warning    characters that look like others are written as code points, such as \\u{0430}",
    );
  }
  if (decision?.note !== undefined) parts.push(`note       ${visibleText(decision.note)}`);
  return parts.join("\n");
}

/** Computed here, from the text that is shown: a verdict names what the reviewer saw. */
export function argumentsSha256(request: ReviewedRequest): string {
  return createHash("sha256").update(exactText(request.arguments)).digest("hex");
}

function renderStatus(request: ReviewedRequest, now: number): string {
  const { status, deadline_at: deadlineAt, decided_by: decidedBy, decision, freeze } = request;
  if (decision === undefined) return `${status}, ${timeLeft(deadlineAt, now)} left`;
  const by = decidedBy === undefined ? "" : ` by ${decidedBy}`;
  const { decided_at: decidedAt, expires_at: expiresAt } = decision;
  const until = expiresAt === undefined ? "" : `, usable until ${expiresAt}`;
  const frozenBy = freeze && visibleText(freeze.reviewer ?? freeze.frozen_by);
  const frozen = freeze === undefined ? "" : `, frozen by ${frozenBy} at ${freeze.frozen_at}`;
  return `${status}${by} at ${decidedAt}${until}${frozen}`;
}

const ID_COLUMNS = 36;
const LEFT_COLUMNS = 9;
const TOOL_COLUMNS = 28;
const SERVER_COLUMNS = 16;
const INSTANCE_COLUMNS = 22;
const CAUSE_COLUMNS = 20;
const NEEDS_COLUMNS = 24;

/**
 * The cause and the requirement are shown for requests that a policy judged, and
 * whose tool it is where one of them says so.
 *
 * @param columns width of the terminal; arguments fill what the other columns leave
 */
export function renderTable(
  requests: readonly ReviewedRequest[],
  now: number,
  columns: number,
): string {
  const showsCauses = requests.some(isJudged);
  const isNamed = requests.some(({ server }) => server !== undefined);
  const widths = [
    ID_COLUMNS,
    LEFT_COLUMNS,
    TOOL_COLUMNS,
    ...(isNamed ? [SERVER_COLUMNS] : []),
    INSTANCE_COLUMNS,
    ...(showsCauses ? [CAUSE_COLUMNS, NEEDS_COLUMNS] : []),
  ];
  const fixed = widths.reduce((sum, width) => sum + width + 2, 0);
  const last = Math.max(20, columns - fixed);
  const row = (...cells: readonly string[]) => {
    const shown = cells.map((cell, i) => excerpt(cell, widths[i] ?? last));
    return shown.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ");
  };
  const rows = requests.map((request) => {
    const { id, tool, server, instance, status, decision, deadline_at: deadlineAt } = request;
    const left = decision === undefined ? timeLeft(deadlineAt, now) : status;
    const needs = decision === undefined ? shortNeeds(request) : "";
    const why = showsCauses ? [shortCause(request), needs] : [];
    const of = isNamed ? [server ?? ""] : [];
    return row(id, left, tool, ...of, instance.name, ...why, exactText(request.arguments));
  });
  const why = showsCauses ? ["BECAUSE", "NEEDS"] : [];
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
