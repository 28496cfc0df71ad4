/** Reads the users that an identity provider sent. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { type Filter, matchesScimFilter, requiredValue } from "../../core/scim-filter.ts";
import { type UserView, writeUser } from "../../core/scim-person.ts";
import { USER_SCHEMA } from "../../core/scim-schema.ts";
import { toUserView } from "../../steps/scim/toUserView.ts";
import {
  countScimUsers,
  listScimUserPage,
  readScimUser,
  readScimUserByExternalId,
  readScimUserByName,
  type StoredScimUser,
} from "../../storage/sql/scim/scim-users.ts";
import type { Reader } from "../../storage/store.ts";

export interface ScimPage<View> {
  readonly total: number;
  readonly resources: readonly View[];
}

export interface ScimQuery {
  readonly filter: Filter | undefined;
  /** Of the matching resources to leave out. */
  readonly offset: number;
  readonly limit: number;
}

/** How many users a filter without an index reads at once. */
const BATCH = 500;

/**
 * @throws Problem `not_found`
 */
export async function showScimUser(
  { store }: Pick<Context, "store">,
  id: string,
): Promise<UserView> {
  const user = await readScimUser(store, id);
  if (user === undefined) throw new Problem("not_found");
  return toUserView(store, user);
}

/**
 * A page of users, the oldest first.
 *
 * @throws ScimRefusal `invalidFilter`
 */
export async function listScimUsers(
  { store }: Pick<Context, "store">,
  { filter, offset, limit }: ScimQuery,
): Promise<ScimPage<UserView>> {
  if (filter === undefined) {
    const users = await listScimUserPage(store, offset, limit);
    return { total: await countScimUsers(store), resources: await viewsOf(store, users) };
  }
  const page: UserView[] = [];
  let total = 0;
  for await (const user of candidates(store, filter)) {
    const view = await toUserView(store, user);
    if (!matchesScimFilter(USER_SCHEMA, filter, writeUser(view, ""))) continue;
    if (total >= offset && page.length < limit) page.push(view);
    total++;
  }
  return { total, resources: page };
}

async function viewsOf(reader: Reader, users: readonly StoredScimUser[]): Promise<UserView[]> {
  const views: UserView[] = [];
  for (const user of users) views.push(await toUserView(reader, user));
  return views;
}

/** Users that can match: one by an index when the filter requires it, as providers send it. */
async function* candidates(reader: Reader, filter: Filter): AsyncGenerator<StoredScimUser> {
  const found = await readIndexed(reader, filter);
  if (found !== undefined) {
    yield* found;
    return;
  }
  for (let offset = 0; ; offset += BATCH) {
    const users = await listScimUserPage(reader, offset, BATCH);
    yield* users;
    if (users.length < BATCH) return;
  }
}

/** @returns undefined when no index applies */
async function readIndexed(
  reader: Reader,
  filter: Filter,
): Promise<readonly StoredScimUser[] | undefined> {
  const userName = requiredValue(USER_SCHEMA, filter, "userName");
  if (userName !== undefined) {
    return asList(await readScimUserByName(reader, normalizeLogin(userName) ?? ""));
  }
  const externalId = requiredValue(USER_SCHEMA, filter, "externalId");
  if (externalId !== undefined) return asList(await readScimUserByExternalId(reader, externalId));
  const id = requiredValue(USER_SCHEMA, filter, "id");
  return id === undefined ? undefined : asList(await readScimUser(reader, id));
}

function asList(user: StoredScimUser | undefined): readonly StoredScimUser[] {
  return user === undefined ? [] : [user];
}
