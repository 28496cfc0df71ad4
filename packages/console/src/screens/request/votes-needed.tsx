/** In the bar: the approvals so far, and the reviewers who can give the missing ones. */

import type { ReviewedRequest, Reviewer } from "@countersign/review-api";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { useLoaded } from "../../parts/use-loaded.ts";
import * as words from "../../requests/words.ts";
import { session } from "../../session.ts";
import { whoCanApprove } from "./who-can.ts";

const NAMES_MAX = 4;

export function VotesNeeded({ request }: { readonly request: ReviewedRequest }) {
  const { requirement } = request;
  const isShown = words.collectsVotes(requirement) || requirement.from.length > 0;
  return isShown ? <Needed request={request} /> : null;
}

/** Of the project; a page loads them once. */
const loaded = new Map<string, Promise<readonly Reviewer[]>>();

function loadReviewers(): Promise<readonly Reviewer[]> {
  const project = session.peek()?.project?.id ?? "";
  const before = loaded.get(project);
  if (before !== undefined) return before;
  const reviewers = api.call("GET /reviewers").then((answer) => answer.reviewers);
  loaded.set(project, reviewers);
  reviewers.catch(() => loaded.delete(project));
  return reviewers;
}

function Needed({ request }: { readonly request: ReviewedRequest }) {
  const { value: reviewers = [] } = useLoaded(loadReviewers, "reviewers");
  const me = session.value?.project?.reviewer.name;
  const names = whoCanApprove(request, reviewers, { me, owner: useOwner(request) });
  const count = words.countVotes(request);
  const voters = request.votes.map(({ reviewer }) => reviewer).join(", ");
  return (
    <p class="hint" id="needed">
      {count !== "" && (
        <>
          <strong id="count">{count}</strong>
          {voters !== "" && (
            <>
              {" "}
              (<Text>{voters}</Text>)
            </>
          )}
          .{" "}
          {!request.votes.some(({ reviewer }) => reviewer === me) && (
            <Text>{`${words.stillMissing(request)} `}</Text>
          )}
        </>
      )}
      {names.length > 0 && rich`Can approve: ${<Text>{listNames(names, me)}</Text>}`}
    </p>
  );
}

/** The owner of the instance, where the requirement excludes it; undefined until it is loaded. */
function useOwner({ instance: { id }, requirement }: ReviewedRequest): string | null | undefined {
  const isNeeded = requirement.exclude.includes("owner");
  const { value } = useLoaded(
    async (signal) =>
      isNeeded ? api.call("GET /instances/{id}", { path: { id }, signal }) : undefined,
    `${isNeeded} ${id}`,
  );
  return value?.owner;
}

function listNames(names: readonly string[], me: string | undefined): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => (name === me ? t`you` : name));
  const more = names.length - shown.length;
  const list = shown.join(", ");
  return more > 0 ? plural(more, { one: "{0} and 1 more", other: "{0} and # more" }, list) : list;
}
