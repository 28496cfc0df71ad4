/** The table of all operations of the reviewer API, by name. */

import { absences } from "./absences.ts";
import { account } from "./account.ts";
import { audit } from "./audit.ts";
import { channels } from "./channels.ts";
import { chat } from "./chat.ts";
import { comments } from "./comments.ts";
import { deliveries } from "./deliveries.ts";
import { events } from "./events.ts";
import { freezes } from "./freezes.ts";
import { grants } from "./grants.ts";
import { history } from "./history.ts";
import { instances } from "./instances.ts";
import { invitations } from "./invitations.ts";
import { oncall } from "./oncall.ts";
import type { Operation } from "./operation.ts";
import { passkeys } from "./passkeys.ts";
import { people } from "./people.ts";
import { policy } from "./policy.ts";
import { push } from "./push.ts";
import { requests } from "./requests.ts";
import { search } from "./search.ts";
import { session } from "./session.ts";
import { statisticsOperations } from "./statistics.ts";
import { tokens } from "./tokens.ts";

/** The path that the paths of the operations are relative to. */
export const REVIEW_PATH = "/review/v1";

/** Names its parts. A derived type repeats each schema: half a megabyte of declarations. */
export type ReviewOperations = typeof absences &
  typeof account &
  typeof audit &
  typeof channels &
  typeof chat &
  typeof comments &
  typeof deliveries &
  typeof events &
  typeof freezes &
  typeof grants &
  typeof history &
  typeof instances &
  typeof invitations &
  typeof oncall &
  typeof passkeys &
  typeof people &
  typeof policy &
  typeof push &
  typeof requests &
  typeof search &
  typeof session &
  typeof statisticsOperations &
  typeof tokens;

export const REVIEW_OPERATIONS: ReviewOperations = {
  ...absences,
  ...account,
  ...audit,
  ...channels,
  ...chat,
  ...comments,
  ...deliveries,
  ...events,
  ...freezes,
  ...grants,
  ...history,
  ...instances,
  ...invitations,
  ...oncall,
  ...passkeys,
  ...people,
  ...policy,
  ...push,
  ...requests,
  ...search,
  ...session,
  ...statisticsOperations,
  ...tokens,
};

export type ReviewOperationName = keyof ReviewOperations;

/** The row of a route like `GET /grants/{id}`. */
export function operationAt(route: string): Operation | undefined {
  const [method, path] = route.split(" ");
  return Object.values<Operation>(REVIEW_OPERATIONS).find(
    (row) => row.method === method && row.path === path,
  );
}
