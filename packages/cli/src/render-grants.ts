/**
 * Grants for people: a card for one, a table for many.
 */

import type { Grant } from "./grant-client.ts";
import { timeLeft } from "./render.ts";
import { excerpt, visibleText } from "./visible-text.ts";

/** @param now the server's time, epoch ms */
export function renderGrant(grant: Grant, now: number): string {
  const { instance, reviewer, when, session, note, validFor } = grant;
  const rows = [
    `grant      ${grant.id}`,
    `state      ${stateOf(grant, now)}`,
    `calls      ${grant.calls} of ${grant.callsMax}`,
    `tool       ${visibleText(grant.tool)}`,
    `instance   ${visibleText(instance.name)}  ${instance.id}`,
  ];
  if (when !== undefined) rows.push(`when       ${visibleText(when)}`);
  if (session !== undefined) rows.push(`session    ${visibleText(session)}`);
  if (validFor !== undefined) rows.push(`valid for  ${validFor}`);
  if (note !== undefined) rows.push(`note       ${visibleText(note)}`);
  rows.push(`made       ${grant.createdAt} by ${visibleText(reviewer.name)}`);
  return rows.join("\n");
}

function stateOf({ state, expiresAt, revokedAt, revokedBy }: Grant, now: number): string {
  if (state === "active") return `active, ${timeLeft(expiresAt, now)} left, until ${expiresAt}`;
  if (state === "expired") return `expired at ${expiresAt}`;
  if (revokedAt === undefined) return visibleText(state);
  return `${visibleText(state)} at ${revokedAt} by ${visibleText(revokedBy ?? "")}`;
}

const ID_COLUMNS = 36;
const LEFT_COLUMNS = 9;
const CALLS_COLUMNS = 9;
const INSTANCE_COLUMNS = 20;
const TOOL_COLUMNS = 24;
const WHEN_COLUMNS_MIN = 20;

/** @param columns width of the terminal; conditions fill what the other columns leave */
export function renderGrants(grants: readonly Grant[], now: number, columns: number): string {
  const fixed = ID_COLUMNS + LEFT_COLUMNS + CALLS_COLUMNS + INSTANCE_COLUMNS + TOOL_COLUMNS + 10;
  const whenColumns = Math.max(WHEN_COLUMNS_MIN, columns - fixed);
  const row = (cells: readonly [string, string, string, string, string, string]) => {
    const [id, left, calls, instance, tool, when] = cells;
    return [
      id.padEnd(ID_COLUMNS),
      excerpt(left, LEFT_COLUMNS).padEnd(LEFT_COLUMNS),
      calls.padEnd(CALLS_COLUMNS),
      excerpt(instance, INSTANCE_COLUMNS).padEnd(INSTANCE_COLUMNS),
      excerpt(tool, TOOL_COLUMNS).padEnd(TOOL_COLUMNS),
      excerpt(when, whenColumns),
    ]
      .join("  ")
      .trimEnd();
  };
  const rows = grants.map((grant) => {
    const { id, state, expiresAt, calls, callsMax, instance, tool, session } = grant;
    const left = state === "active" ? timeLeft(expiresAt, now) : state;
    const when = [grant.when ?? "", session === undefined ? "" : `session ${session}`];
    const terms = when.filter((part) => part !== "").join(", ");
    return row([id, left, `${calls}/${callsMax}`, instance.name, tool, terms]);
  });
  return [row(["GRANT", "LEFT", "CALLS", "INSTANCE", "TOOL", "WHEN"]), ...rows].join("\n");
}
