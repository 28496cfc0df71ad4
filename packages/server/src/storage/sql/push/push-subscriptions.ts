/**
 * Rows of the tables `push_subscription`: the subscribed browsers of people and their state;
 * and `push_key`, the pair of keys that push services know this server by.
 */

import type { LastSending } from "../../../core/channel.ts";
import type { StoredSubscription } from "../../../core/push.ts";
import type { Reader, Row, Transaction } from "../../store.ts";

const COLUMNS = `id, person_id, endpoint_sha256, name, target_shown, encrypted_target, created_at,
  claimed_until, fence, failures, retry_at, last_at, last_outcome, last_status`;

const SELECT = `select ${COLUMNS} from push_subscription where id = $1`;

export type NewSubscription = Pick<
  StoredSubscription,
  "id" | "personId" | "endpointSha256" | "name" | "targetShown" | "encryptedTarget" | "createdAt"
>;

export async function insertSubscription(
  tx: Transaction,
  subscription: NewSubscription,
): Promise<void> {
  const { id, personId, endpointSha256, name, targetShown, encryptedTarget, createdAt } =
    subscription;
  await tx.insert(
    `insert into push_subscription (id, person_id, endpoint_sha256, name, target_shown,
       encrypted_target, created_at, fence, failures)
     values ($1, $2, $3, $4, $5, $6, $7, 0, 0)`,
    [id, personId, endpointSha256, name, targetShown, encryptedTarget, createdAt],
  );
}

/** Replaces the keys or the name of a known browser. Also ends its backoff. */
export async function updateSubscription(
  tx: Transaction,
  { id, name, encryptedTarget }: Pick<StoredSubscription, "id" | "name" | "encryptedTarget">,
): Promise<void> {
  await tx.run(
    "update push_subscription set name = $2, encrypted_target = $3, retry_at = null where id = $1",
    [id, name, encryptedTarget],
  );
}

export async function deleteSubscription(tx: Transaction, id: string): Promise<void> {
  await tx.run("delete from push_subscription where id = $1", [id]);
}

export async function lockSubscription(
  tx: Transaction,
  id: string,
): Promise<StoredSubscription | undefined> {
  return toSubscription(await tx.lock("update", SELECT, [id]));
}

export async function lockSubscriptionByEndpoint(
  tx: Transaction,
  endpointSha256: string,
): Promise<StoredSubscription | undefined> {
  const sql = `select ${COLUMNS} from push_subscription where endpoint_sha256 = $1`;
  return toSubscription(await tx.lock("update", sql, [endpointSha256]));
}

/** All of a person, the oldest first. */
export async function listSubscriptionsOf(
  reader: Reader,
  personId: string,
): Promise<StoredSubscription[]> {
  const sql = `select ${COLUMNS} from push_subscription where person_id = $1 order by id`;
  return (await reader.all(sql, [personId])).map(fromRow);
}

/** Browsers with a due message, without a lease and without a pause. */
export async function readDueSubscriptions(
  reader: Reader,
  now: number,
  limit: number,
): Promise<string[]> {
  const rows = await reader.all(
    `select id from push_subscription
     where (claimed_until is null or claimed_until <= $1) and (retry_at is null or retry_at <= $1)
       and exists (select 1 from push_message
         where push_message.subscription_id = push_subscription.id and next_at <= $1)
     limit $2`,
    [now, limit],
  );
  return rows.map(({ id }) => String(id));
}

export async function claimSubscription(tx: Transaction, id: string, until: number): Promise<void> {
  await tx.run("update push_subscription set claimed_until = $2, fence = fence + 1 where id = $1", [
    id,
    until,
  ]);
}

export interface AfterPush {
  readonly failures: number;
  readonly retryAt: number | null;
  readonly last: LastSending | null;
}

/** @returns false when the claim of this fence is over */
export async function updateAfterPush(
  tx: Transaction,
  id: string,
  fence: number,
  { failures, retryAt, last }: AfterPush,
): Promise<boolean> {
  const updated = await tx.run(
    `update push_subscription set claimed_until = null, failures = $3, retry_at = $4, last_at = $5,
       last_outcome = $6, last_status = $7
     where id = $1 and fence = $2 and claimed_until is not null`,
    [id, fence, failures, retryAt, last?.at ?? null, last?.outcome ?? null, last?.status ?? null],
  );
  return updated === 1;
}

/** Records the outcome of a test message, also while another replica holds the lease. */
export async function updateLastPush(
  tx: Transaction,
  id: string,
  { at, outcome, status }: LastSending,
): Promise<void> {
  await tx.run(
    "update push_subscription set last_at = $2, last_outcome = $3, last_status = $4 where id = $1",
    [id, at, outcome, status],
  );
}

/** Ends the leases of a dead process. */
export async function releaseSubscriptions(tx: Transaction, now: number): Promise<void> {
  await tx.run("update push_subscription set claimed_until = null where claimed_until > $1", [now]);
}

export interface StoredPushKey {
  readonly publicKey: string;
  readonly encryptedPrivateKey: string;
}

const PUSH_KEY = "select public_key, encrypted_private_key from push_key where id = 'vapid'";

export async function readPushKey(reader: Reader): Promise<StoredPushKey | undefined> {
  const row = await reader.get(PUSH_KEY);
  if (row === undefined) return undefined;
  return {
    publicKey: row.public_key as string,
    encryptedPrivateKey: row.encrypted_private_key as string,
  };
}

/** Unless another transaction was first. */
export async function insertPushKey(
  tx: Transaction,
  { publicKey, encryptedPrivateKey }: StoredPushKey,
  now: number,
): Promise<void> {
  await tx.run(
    `insert into push_key (id, public_key, encrypted_private_key, created_at)
     values ('vapid', $1, $2, $3) on conflict (id) do nothing`,
    [publicKey, encryptedPrivateKey, now],
  );
}

function toSubscription(row: Row | undefined): StoredSubscription | undefined {
  return row === undefined ? undefined : fromRow(row);
}

function fromRow(row: Row): StoredSubscription {
  const numberOf = (value: Row[string] | undefined) => (value === null ? null : Number(value));
  return {
    id: row.id as string,
    personId: row.person_id as string,
    endpointSha256: row.endpoint_sha256 as string,
    name: row.name as string,
    targetShown: row.target_shown as string,
    encryptedTarget: row.encrypted_target as string,
    createdAt: Number(row.created_at),
    claimedUntil: numberOf(row.claimed_until),
    fence: Number(row.fence),
    failures: Number(row.failures),
    retryAt: numberOf(row.retry_at),
    last:
      row.last_at === null
        ? null
        : {
            at: Number(row.last_at),
            outcome: row.last_outcome as string,
            status: numberOf(row.last_status),
          },
  };
}
