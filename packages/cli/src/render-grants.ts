/**
 * Grants for people: a card for one, a table for many.
 */

import { type FixedColumn, renderTableOf } from "@countersign/command-line";
import type { Grant } from "@countersign/review-api";
import { timeLeft } from "./render.ts";
import { visibleText } from "./visible-text.ts";

/** @param now the server's time, epoch ms */
export function renderGrant(grant: Grant, now: number): string {
  const { instance, reviewer, when, session, turn, note, valid_for: validFor } = grant;
  const server = serverOf(grant);
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
  if (turn !== undefined) rows.push(`turn       ${visibleText(turn)}`);
  if (validFor !== undefined) rows.push(`valid for  ${validFor}`);
  if (note !== undefined) rows.push(`note       ${visibleText(note)}`);
  rows.push(`made       ${grant.created_at} by ${visibleText(reviewer.name)}`);
  return rows.join("\n");
}

function serverOf({ server, any_server: isAny }: Grant): string | undefined {
  return isAny === true ? "any server" : server;
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
  const isNamed = grants.some((grant) => serverOf(grant) !== undefined);
  const rows = grants.map((grant) => {
    const { id, state, expires_at: expiresAt, calls, calls_max: callsMax } = grant;
    const left = state === "active" ? timeLeft(expiresAt, now) : state;
    const terms = termsOf(grant).join(", ");
    const row = [id, left, `${calls}/${callsMax}`, grant.instance.name, grant.tool];
    if (isNamed) row.push(serverOf(grant) ?? "");
    row.push(terms);
    return row;
  });
  const fixed = [GRANT, LEFT, CALLS, INSTANCE, TOOL];
  if (isNamed) fixed.push(SERVER);
  fixed.push(WHEN);
  return renderTableOf(fixed, rows, columns);
}

function termsOf({ when, session, turn }: Grant): string[] {
  const terms: string[] = [];
  if (when !== undefined) terms.push(when);
  if (turn !== undefined) terms.push(`turn ${turn}`);
  if (session !== undefined) terms.push(`session ${session}`);
  return terms;
}
