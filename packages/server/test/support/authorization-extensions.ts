/** The rows of what is admitted beyond the contract, for authorization-table.ts. */

import { type AuthorizationRow, whoever } from "./authorization-profiles.ts";

const BY_INSTANCES = whoever("instance", "foreign");

/** The request is pending. */
export const EXTENSION_ROWS: readonly AuthorizationRow[] = [
  {
    operation: "consumeApproval",
    who: BY_INSTANCES,
    status: 409,
    foreign: 404,
    id: (stage) => stage.requestId,
  },
  {
    operation: "reportOutcome",
    who: BY_INSTANCES,
    status: 409,
    foreign: 404,
    id: (stage) => stage.requestId,
    body: () => ({ status: "succeeded" }),
  },
];
