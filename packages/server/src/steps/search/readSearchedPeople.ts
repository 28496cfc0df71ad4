import { deciderId, type StoredRequest } from "../../core/request.ts";
import type { SearchedPeople } from "../../core/searched-request.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readVotes } from "../../storage/sql/requests/votes.ts";
import type { Reader } from "../../storage/store.ts";

/** Reads the reviewers who decided or approved requests, in the order of the requests. */
export async function readSearchedPeople(
  reader: Reader,
  projectId: string,
  requests: readonly StoredRequest[],
): Promise<SearchedPeople[]> {
  const ids = requests.map(({ id }) => id);
  const votes = await readVotes(reader, projectId, ids);
  const deciders = requests.flatMap((request) => deciderId(request) ?? []);
  const reviewerIds = [...deciders, ...votes.map(({ reviewerId }) => reviewerId)];
  const reviewers = await readReviewers(reader, projectId, [...new Set(reviewerIds)]);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return requests.map((request) => {
    const own = votes.filter(({ requestId }) => requestId === request.id);
    const people = [deciderId(request), ...own.map(({ reviewerId }) => reviewerId)];
    return {
      names: [...new Set(people)].flatMap((id) => names.get(id ?? "") ?? []),
      notes: own.map(({ note }) => note),
    };
  });
}
