/** Rows of the table `chat_connection`: connections to chats, which one process owns at a time. */

import type { Reader, Row, Transaction } from "../../store.ts";

/** Identifies the connection of an app. */
export interface ConnectionKey {
  readonly projectId: string;
  /** SHA-256 of a secret of the app. */
  readonly app: string;
}

export interface ChatConnectionRow extends ConnectionKey {
  /** `connecting`, `connected`, or why there is no connection. */
  readonly state: string;
  /** Epoch ms. */
  readonly changedAt: number;
  readonly ownedUntil: number;
}

/**
 * Claims or renews a connection.
 *
 * @returns false while another process owns it
 */
export async function claimConnection(
  tx: Transaction,
  { projectId, app }: ConnectionKey,
  owner: string,
  now: number,
  ownedUntil: number,
): Promise<boolean> {
  const claimed = await tx.run(
    `insert into chat_connection (project_id, app, owner, owned_until, state, changed_at)
     values ($1, $2, $3, $4, 'connecting', $5)
     on conflict (project_id, app) do update set
       state = case when chat_connection.owner = excluded.owner
         then chat_connection.state else 'connecting' end,
       changed_at = case when chat_connection.owner = excluded.owner
         then chat_connection.changed_at else excluded.changed_at end,
       owner = excluded.owner, owned_until = excluded.owned_until
       where chat_connection.owner = excluded.owner or chat_connection.owned_until <= $5`,
    [projectId, app, owner, ownedUntil, now],
  );
  return claimed === 1;
}

/** Does nothing when another process owns the connection. */
export async function writeConnectionState(
  tx: Transaction,
  { projectId, app }: ConnectionKey,
  owner: string,
  state: string,
  changedAt: number,
): Promise<void> {
  await tx.run(
    `update chat_connection set state = $4, changed_at = $5
     where project_id = $1 and app = $2 and owner = $3 and state <> $4`,
    [projectId, app, owner, state, changedAt],
  );
}

/** Ends the claim of this process, so that another one can connect at once. */
export async function releaseConnection(
  tx: Transaction,
  { projectId, app }: ConnectionKey,
  owner: string,
): Promise<void> {
  await tx.run("delete from chat_connection where project_id = $1 and app = $2 and owner = $3", [
    projectId,
    app,
    owner,
  ]);
}

export async function readConnection(
  reader: Reader,
  { projectId, app }: ConnectionKey,
): Promise<ChatConnectionRow | undefined> {
  const row = await reader.get(
    `select project_id, app, state, changed_at, owned_until from chat_connection
     where project_id = $1 and app = $2`,
    [projectId, app],
  );
  return row === undefined ? undefined : fromRow(row);
}

function fromRow(row: Row): ChatConnectionRow {
  return {
    projectId: String(row.project_id),
    app: String(row.app),
    state: String(row.state),
    changedAt: Number(row.changed_at),
    ownedUntil: Number(row.owned_until),
  };
}
