/** The rows of the inbox, as the filter leaves them. */

import { useMemo } from "preact/hooks";
import { isMine, type PendingRequest } from "../../live/pending-request.ts";
import { fits, groupsOf, type RequestGroup } from "./groups.ts";

export interface Shown {
  readonly mine: readonly RequestGroup[];
  readonly others: readonly RequestGroup[];
  /** Both, in their order. */
  readonly all: readonly RequestGroup[];
}

export function useShown(requests: readonly PendingRequest[], filter: string): Shown {
  return useMemo(() => {
    const wanted = requests.filter((request) => fits(request, filter));
    const groups = groupsOf(wanted);
    const mine = groups.filter(({ first }) => isMine(first));
    const others = groups.filter(({ first }) => !isMine(first));
    return { mine, others, all: [...mine, ...others] };
  }, [requests, filter]);
}
