/** Proposals for the policy that wait for the person, beside the name of its screen. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { plural } from "../language/t.ts";
import { may } from "../powers.ts";

const EVERY_MS = 60_000;

const waiting = signal(0);

let round = 0;

/** Reloads the number after a proposal was created, published or rejected. */
export async function refreshProposals(): Promise<void> {
  const own = ++round;
  const scopes = [
    ...(may("publish") ? (["policy"] as const) : []),
    ...(may("server") ? (["floor"] as const) : []),
  ];
  const query = { state: "open", limit: "50" } as const;
  let answers: readonly Awaited<ReturnType<typeof fetchProposals>>[];
  const fetchProposals = (scope: "policy" | "floor") =>
    api.call(`GET /${scope}/proposals`, { query, isBackground: true });
  try {
    answers = await Promise.all(scopes.map(fetchProposals));
  } catch {
    // Keep the previous number until the next reload.
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
    const refresh = () => {
      if (!document.hidden) void refreshProposals();
    };
    refresh();
    const timer = setInterval(refresh, EVERY_MS);
    document.addEventListener("visibilitychange", refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", refresh);
    };
  }, []);
  const count = waiting.value;
  if (count === 0) return null;
  return (
    <span class="count">
      {count}
      <span class="spoken">
        {plural(count, {
          one: " proposal for you to review",
          other: " proposals for you to review",
        })}
      </span>
    </span>
  );
}
