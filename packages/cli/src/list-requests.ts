/** Listings of requests: the pages of the reviewer API as one list. */

import type { ReviewedRequest } from "@countersign/review-api";
import { collect, type ReviewerApi } from "./reviewer-api.ts";

export interface Listing {
  readonly requests: readonly ReviewedRequest[];
  /** Ids of requests that the database cannot read. */
  readonly damaged: readonly string[];
  readonly hasMore: boolean;
}

/** Follows the pages up to `limit` requests. */
export async function listRequests(
  api: ReviewerApi,
  state: "pending" | "decided",
  limit: number,
): Promise<Listing> {
  const damaged: string[] = [];
  const { items: requests, hasMore } = await collect(
    limit,
    async (limit, after) => {
      const page = await api.call("GET /requests", { query: { state, limit, after } });
      damaged.push(...(page.damaged ?? []));
      return page;
    },
    (page) => page.requests,
  );
  return { requests, damaged, hasMore };
}
