/**
 * Grants for people: a card for one, a table for many.
 */

import { type FixedColumn, renderTableOf } from "@countersign/command-line";
import type { Grant } from "@countersign/review-api";
import { timeLeft } from "./render.ts";
import { visibleText } from "./visible-text.ts";

/** @param now the server's time, epoch ms */
export function renderGrant(grant: Grant, now: number): string {
  const { instance, reviewer, server, when, session, note, valid_for: validFor } = grant;
  const rows = [
    `grant      ${grant.id}`,
    `state      ${stateOf(grant, now)}`,
    `calls      ${grant.calls} of ${grant.calls_max}`,
    `tool       ${visibleText(grant.tool)}`,
    `instance   ${visibleText(instance.name)}  ${instance.id}`,
  ];
  if (when !== undefined) rows.push(`when       ${visibleText(when)}`);
  if (server !== undefined) rows.push(`server     ${visibleText(server)}`);
  if (session !== undefined) rows.push(`session    ${visibleText(session)}`);
  if (validFor !== undefined) rows.push(`valid for  ${validFor}`);
  if (note !== undefined) rows.push(`note       ${visibleText(note)}`);
  rows.push(`made       ${grant.created_at} by ${visibleText(reviewer.name)}`);
  return rows.join("\n");
}

function stateOf(grant: Grant, now: number): string {
  const { state, expires_at: expiresAt, revoked_at: revokedAt, revoked_by: revokedBy } = grant;
  if (state === "active") return `active, ${timeLeft(expiresAt, now)} left, until ${expiresAt}`;
  if (state === "expired") return `expired at ${expiresAt}`;
  if (revokedAt === undefined) return visibleText(state);
  return `${visibleText(state)} at ${revokedAt} by ${visibleText(revokedBy ?? "")}`;
}

const COLUMNS: readonly FixedColumn[] = [
  { head: "GRANT", width: 36 },
  { head: "LEFT", width: 9 },
  { head: "CALLS", width: 9 },
  { head: "INSTANCE", width: 20 },
  { head: "TOOL", width: 24 },
  { head: "WHEN", width: 20 },
];

/** @param columns width of the terminal; conditions fill what the other columns leave */
export function renderGrants(grants: readonly Grant[], now: number, columns: number): string {
  const rows = grants.map((grant) => {
    const {
      id,
      state,
      expires_at: expiresAt,
      calls,
      calls_max: callsMax,
      instance,
      tool,
      session,
    } = grant;
    const left = state === "active" ? timeLeft(expiresAt, now) : state;
    const when = [grant.when ?? "", session === undefined ? "" : `session ${session}`];
    const terms = when.filter((part) => part !== "").join(", ");
    return [id, left, `${calls}/${callsMax}`, instance.name, tool, terms];
  });
  return renderTableOf(COLUMNS, rows, columns);
}
