/** Rows of the tables `chat_link` and `chat_code`: users of chats who may decide as a reviewer. */

import type { ChatKind, ChatUser } from "../../../core/chat.ts";
import type { LockMode, Reader, Row, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

export interface ChatLink extends RowKey {
  readonly platform: ChatKind;
  readonly user: ChatUser;
  readonly reviewerId: string;
  /** Epoch ms. */
  readonly linkedAt: number;
}

const COLUMNS = "project_id, id, platform, team_id, user_id, user_name, reviewer_id, linked_at";

/** Replaces the link of the user, if there is one. */
export async function writeLink(tx: Transaction, link: ChatLink): Promise<void> {
  const { projectId, id, platform, user, reviewerId, linkedAt } = link;
  await tx.run(
    `insert into chat_link (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (project_id, platform, team_id, user_id) do update set id = excluded.id,
       user_name = excluded.user_name, reviewer_id = excluded.reviewer_id,
       linked_at = excluded.linked_at`,
    [projectId, id, platform, user.teamId, user.userId, user.name, reviewerId, linkedAt],
  );
}

export async function findLink(
  reader: Reader,
  projectId: string,
  platform: ChatKind,
  { teamId, userId }: Pick<ChatUser, "teamId" | "userId">,
): Promise<ChatLink | undefined> {
  const row = await reader.get(
    `select ${COLUMNS} from chat_link
     where project_id = $1 and platform = $2 and team_id = $3 and user_id = $4`,
    [projectId, platform, teamId, userId],
  );
  return row === undefined ? undefined : fromRow(row);
}

export async function lockLink(
  tx: Transaction,
  mode: LockMode,
  { projectId, id }: RowKey,
): Promise<ChatLink | undefined> {
  const sql = `select ${COLUMNS} from chat_link where project_id = $1 and id = $2`;
  const row = await tx.lock(mode, sql, [projectId, id]);
  return row === undefined ? undefined : fromRow(row);
}

/** @param reviewerId undefined: the links of all reviewers */
export async function listLinks(
  reader: Reader,
  projectId: string,
  reviewerId?: string,
): Promise<ChatLink[]> {
  const rows =
    reviewerId === undefined
      ? await reader.all(
          `select ${COLUMNS} from chat_link where project_id = $1 order by linked_at, id`,
          [projectId],
        )
      : await reader.all(
          `select ${COLUMNS} from chat_link where project_id = $1 and reviewer_id = $2
           order by linked_at, id`,
          [projectId, reviewerId],
        );
  return rows.map(fromRow);
}

export async function deleteLink(tx: Transaction, { projectId, id }: RowKey): Promise<void> {
  await tx.run("delete from chat_link where project_id = $1 and id = $2", [projectId, id]);
}

function fromRow(row: Row): ChatLink {
  return {
    projectId: String(row.project_id),
    id: String(row.id),
    platform: row.platform as ChatKind,
    user: {
      teamId: String(row.team_id),
      userId: String(row.user_id),
      name: String(row.user_name),
    },
    reviewerId: String(row.reviewer_id),
    linkedAt: Number(row.linked_at),
  };
}

/** Replaces the earlier code of the reviewer. */
export async function writeCodeHash(
  tx: Transaction,
  { projectId, id: reviewerId }: RowKey,
  codeHash: string,
  expiresAt: number,
): Promise<void> {
  await tx.run(
    `insert into chat_code (project_id, reviewer_id, code_hash, expires_at)
     values ($1, $2, $3, $4)
     on conflict (project_id, reviewer_id) do update set code_hash = excluded.code_hash,
       expires_at = excluded.expires_at`,
    [projectId, reviewerId, codeHash, expiresAt],
  );
}

/**
 * Uses a code, which is possible once.
 *
 * @returns the id of the reviewer; undefined for an unknown, used or expired code
 */
export async function useCode(
  tx: Transaction,
  projectId: string,
  codeHash: string,
  now: number,
): Promise<string | undefined> {
  const sql = `select reviewer_id, expires_at from chat_code
     where project_id = $1 and code_hash = $2`;
  const row = await tx.lock("update", sql, [projectId, codeHash]);
  if (row === undefined) return undefined;
  await tx.run("delete from chat_code where project_id = $1 and code_hash = $2", [
    projectId,
    codeHash,
  ]);
  return Number(row.expires_at) > now ? String(row.reviewer_id) : undefined;
}
