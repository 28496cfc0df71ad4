/** Proposals for the policy that wait for the person, beside the name of its screen. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import { may } from "../powers.ts";

const EVERY_MS = 60_000;

const waiting = signal(0);

interface Answer {
  readonly proposals: readonly { readonly state: string; readonly refusal?: string }[];
}

let round = 0;

/** Looks again: one was made, published or rejected. */
export async function lookForProposals(): Promise<void> {
  const own = ++round;
  const scopes = [...(may("publish") ? ["policy"] : []), ...(may("server") ? ["floor"] : [])];
  const look = (scope: string) =>
    call<Answer>("GET", `${scope}/proposals?state=open&limit=50`, { isBackground: true });
  let answers: readonly Answer[];
  try {
    answers = await Promise.all(scopes.map(look));
  } catch {
    // What was known stands until the next look.
    return;
  }
  if (own !== round) return;
  const theirs = answers.flatMap(({ proposals }) => proposals);
  waiting.value = theirs.filter(
    ({ state, refusal }) => state === "open" && refusal === undefined,
  ).length;
}

/** How many the person may publish. Its key is the project: another one starts again. */
export function ProposalCount() {
  useEffect(() => {
    waiting.value = 0;
    const look = () => {
      if (!document.hidden) void lookForProposals();
    };
    look();
    const timer = setInterval(look, EVERY_MS);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  const count = waiting.value;
  if (count === 0) return null;
  return (
    <span class="count">
      {count}
      <span class="spoken">{count === 1 ? " proposal" : " proposals"} for you to look at</span>
    </span>
  );
}
