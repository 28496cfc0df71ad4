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
    ...(server === undefined ? [] : [`server     ${visibleText(server)}`]),
    `instance   ${visibleText(instance.name)}  ${instance.id}`,
  ];
  if (when !== undefined) rows.push(`when       ${visibleText(when)}`);
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

const GRANT: FixedColumn = { head: "GRANT", width: 36 };
const LEFT: FixedColumn = { head: "LEFT", width: 9 };
const CALLS: FixedColumn = { head: "CALLS", width: 9 };
const INSTANCE: FixedColumn = { head: "INSTANCE", width: 20 };
const TOOL: FixedColumn = { head: "TOOL", width: 24 };
const SERVER: FixedColumn = { head: "SERVER", width: 16 };
const WHEN: FixedColumn = { head: "WHEN", width: 20 };

/**
 * Servers have a column if a grant names one.
 *
 * @param columns width of the terminal; conditions fill what the other columns leave
 */
export function renderGrants(grants: readonly Grant[], now: number, columns: number): string {
  const isNamed = grants.some(({ server }) => server !== undefined);
  const rows = grants.map((grant) => {
    const { id, state, expires_at: expiresAt, calls, calls_max: callsMax, session } = grant;
    const left = state === "active" ? timeLeft(expiresAt, now) : state;
    const when = [grant.when ?? "", session === undefined ? "" : `session ${session}`];
    const terms = when.filter((part) => part !== "").join(", ");
    const row = [id, left, `${calls}/${callsMax}`, grant.instance.name, grant.tool];
    if (isNamed) row.push(grant.server ?? "");
    row.push(terms);
    return row;
  });
  const fixed = [GRANT, LEFT, CALLS, INSTANCE, TOOL];
  if (isNamed) fixed.push(SERVER);
  fixed.push(WHEN);
  return renderTableOf(fixed, rows, columns);
}
