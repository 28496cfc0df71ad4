/** Texts of the inbox beside its rows. */

import { plural, t } from "../../language/t.ts";
import { connection } from "../../live/live.ts";
import { arrivals, listing } from "../../live/pending-list.ts";
import { ConnectAgent, ConnectedAgent } from "./connect-agent.tsx";
import { useNews } from "./use-news.ts";
import type { Shown } from "./use-shown.ts";

export function Nothing({ shown, filter }: { readonly shown: Shown; readonly filter: string }) {
  const { next } = listing.value;
  if (next === undefined) {
    return connection.value === "lost" ? null : <p class="waiting">{t`Loading…`}</p>;
  }
  if (shown.mine.length > 0) return null;
  if (filter !== "") {
    if (shown.others.length > 0) return null;
    return <p class="waiting">{t`No pending request matches this filter.`}</p>;
  }
  if (shown.others.length > 0) return <p class="lead">{t`No requests need your decision.`}</p>;
  return (
    <section class="panel nothing">
      <h2>{t`No requests need your decision`}</h2>
      <p>{t`New requests appear here automatically. You can leave this page open.`}</p>
      <ConnectAgent />
    </section>
  );
}

export function Below() {
  return (
    <>
      <ConnectedAgent />
      <Notes />
    </>
  );
}

function Notes() {
  const { damaged } = listing.value;
  if (damaged === 0) return null;
  return (
    <p class="hint">
      {plural(damaged, {
        one: "1 pending request is damaged in the database and cannot be decided.",
        other: "# pending requests are damaged in the database and cannot be decided.",
      })}
    </p>
  );
}

export function News() {
  return (
    <p class="spoken" id="news" role="status">
      {useNews(arrivals.value)}
    </p>
  );
}
