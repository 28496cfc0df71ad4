/**
 * Inbox: what waits for people, as it is now. A row leads to the screen where it is decided; only
 * what is selected on purpose is decided from here.
 */

import "./inbox.css";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { mine as allMine, connection, pending } from "../../live/live.ts";
import { arrivals, listing } from "../../live/pending-list.ts";
import { isDecidable, isMine, type PendingRequest } from "../../live/pending-request.ts";
import { Page } from "../../parts/page.tsx";
import { go } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";
import { type InboxAddress, isPicked, readAddress, togglePicked, writeAddress } from "./address.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { ConnectAgent, ConnectedAgent } from "./connect-agent.tsx";
import { fits, groupsOf, type RequestGroup } from "./groups.ts";
import { HeldBar } from "./held-verdict.tsx";
import { InboxList } from "./list.tsx";
import type { RowActions } from "./row.tsx";
import { useAnchor } from "./use-anchor.ts";
import { useInboxKeys } from "./use-inbox-keys.ts";
import { useNews } from "./use-news.ts";

interface Shown {
  readonly mine: readonly RequestGroup[];
  readonly others: readonly RequestGroup[];
}

function useShown(requests: readonly PendingRequest[], filter: string): Shown {
  return useMemo(() => {
    const wanted = requests.filter((request) => fits(request, filter));
    const groups = groupsOf(wanted);
    return {
      mine: groups.filter(({ first }) => isMine(first)),
      others: groups.filter(({ first }) => !isMine(first)),
    };
  }, [requests, filter]);
}

function change(address: InboxAddress, part: Partial<InboxAddress>): void {
  go(writeAddress({ ...address, ...part }), { replace: true });
}

function toggled(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const after = new Set(keys);
  if (!after.delete(key)) after.add(key);
  return after;
}

export function Screen({ route }: ScreenProps) {
  const address = useMemo(() => readAddress(route.query), [route.query]);
  const all = pending.value;
  const shown = useShown(all, address.filter);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const scope = useRef<HTMLDivElement>(null);
  const filter = useRef<HTMLInputElement>(null);
  const current = useCurrent(shown, address);
  const { isSettled } = useAnchor(scope, shown);
  const latest = useRef({ address, shown, current });
  latest.current = { address, shown, current };

  const actions = useMemo<RowActions>(
    () => ({
      pick(requests) {
        const { address: before } = latest.current;
        change(before, { picked: togglePicked(before.picked, requests) });
      },
      unfold: (key) => setUnfolded((before) => toggled(before, key)),
    }),
    [],
  );

  useInboxKeys({
    scope,
    filter,
    isSettled,
    groups: () => [...latest.current.shown.mine, ...latest.current.shown.others],
    current: () => latest.current.current,
    moveTo: ({ first }) => change(latest.current.address, { at: first.id }),
    pick: ({ requests }) => actions.pick(requests),
    clear: () => change(latest.current.address, { picked: new Set() }),
  });

  const picked = all.filter((one) => isPicked(address.picked, one) && isDecidable(one));
  return (
    <Page
      title="Inbox"
      actions={
        <Filter
          input={filter}
          value={address.filter}
          onInput={(text) => change(address, { filter: text })}
        />
      }
    >
      <TabTitle />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the rows in it are links. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key is not pressed by mistake here. */}
      <div
        class="inbox"
        ref={scope}
        onClick={(event) => {
          const row = event.target instanceof Element && event.target.closest(".row");
          if (!row) return;
          // A row that has just moved is not what was aimed at.
          if (event.detail > 0 && !isSettled()) event.preventDefault();
          else if (event.target instanceof Element && event.target.closest(".row-link")) {
            change(address, { at: row.getAttribute("data-id") ?? "" });
          }
        }}
      >
        <Nothing shown={shown} filter={address.filter} />
        <InboxList
          {...shown}
          address={address}
          current={current}
          actions={actions}
          unfolded={unfolded}
        />
      </div>
      <Below />
      <HeldBar />
      <BulkBar requests={picked} onClear={() => change(address, { picked: new Set() })} />
      <News />
    </Page>
  );
}

/** The key of the row that the address names, or of the one that took its place. */
function useCurrent({ mine, others }: Shown, { at }: InboxAddress): string | undefined {
  const key = useRef<string | undefined>(undefined);
  const named = [...mine, ...others].find(({ requests }) => requests.some(({ id }) => id === at));
  if (named !== undefined) key.current = named.key;
  else if (at === "") key.current = undefined;
  return key.current;
}

interface FilterProps {
  readonly input: { current: HTMLInputElement | null };
  readonly value: string;
  onInput(text: string): void;
}

function Filter({ input, value, onInput }: FilterProps) {
  return (
    <label class="filter">
      <span class="spoken">Filter by tool, server, instance, rule or arguments</span>
      <input
        ref={input}
        type="search"
        placeholder="Filter"
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape" || key === "Enter") currentTarget.blur();
        }}
      />
      <span class="key" aria-hidden="true">
        /
      </span>
    </label>
  );
}

function TabTitle() {
  const count = allMine.value.length;
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}Inbox · Countersign`;
  }, [count]);
  return null;
}

function Nothing({ shown, filter }: { readonly shown: Shown; readonly filter: string }) {
  const { next } = listing.value;
  if (next === undefined) {
    return connection.value === "lost" ? null : <p class="waiting">Loading…</p>;
  }
  if (shown.mine.length > 0) return null;
  if (filter !== "") {
    if (shown.others.length > 0) return null;
    return <p class="waiting">No pending request matches this filter.</p>;
  }
  if (shown.others.length > 0) return <p class="lead">No requests need your decision.</p>;
  return (
    <section class="panel nothing">
      <h2>No requests need your decision</h2>
      <p>New requests appear here automatically. You can leave this page open.</p>
      <ConnectAgent />
    </section>
  );
}

function Below() {
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
      {damaged} pending requests are damaged in the database and cannot be decided.
    </p>
  );
}

function News() {
  return (
    <p class="spoken" id="news" role="status">
      {useNews(arrivals.value)}
    </p>
  );
}
