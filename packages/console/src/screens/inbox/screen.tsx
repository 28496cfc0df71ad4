/**
 * Inbox: the pending requests, as they are now. On a wide window the open request is beside the
 * list; on a narrow one it takes the place of the list.
 */

import "./inbox.css";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../../language/t.ts";
import { pending } from "../../live/live.ts";
import { listing } from "../../live/pending-list.ts";
import { isDecidable } from "../../live/pending-request.ts";
import { idOfAddress } from "../../live/request-address.ts";
import { Page } from "../../parts/page.tsx";
import { useMedia } from "../../parts/use-media.ts";
import { addressOf } from "../../requests/address-of.ts";
import { href } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";
import { type InboxAddress, isPicked, readAddress } from "./address.ts";
import { BulkBar } from "./bulk-bar.tsx";
import { Filter } from "./filter.tsx";
import type { RequestGroup } from "./groups.ts";
import { InboxList } from "./list.tsx";
import { Below, News, Nothing } from "./list-notes.tsx";
import { changeAddress } from "./navigate.ts";
import { OpenPane } from "./open-pane.tsx";
import { openRow } from "./open-row.ts";
import { TabTitle } from "./tab-title.tsx";
import { useAnchor } from "./use-anchor.ts";
import { useFirstOpened, useFlow } from "./use-flow.ts";
import { useInboxKeys } from "./use-inbox-keys.ts";
import { useSelection } from "./use-selection.ts";
import { type Shown, useShown } from "./use-shown.ts";

/** List and request fit side by side. */
const WIDE = "(min-width: 80rem)";

export function Screen({ route, rest }: ScreenProps) {
  const id = idOfAddress(rest);
  const address = useMemo(() => readAddress(id ?? rest, route.query), [id, rest, route.query]);
  const shown = useShown(pending.value, address.filter);
  const isWide = useMedia(WIDE);
  const flow = useFlow(address, shown);
  useFirstOpened(isWide, address, shown);
  const isListShown = isWide || address.open === "";
  return (
    <div class={isWide ? "triage split" : "triage"}>
      {isListShown && <List address={address} shown={shown} isWide={isWide} />}
      {id === undefined && <Unknown />}
      {id !== undefined && id !== "" && (
        <OpenPane key={id} id={id} flow={flow} isBesideList={isWide} />
      )}
      {isWide && address.open === "" && <div class="pane empty-pane" />}
    </div>
  );
}

/** The address leaves out a part of the id, and no listed request has the rest of it. */
function Unknown() {
  if (listing.value.next === undefined) return <p class="waiting">{t`Loading…`}</p>;
  return (
    <div class="pane page">
      <h1 tabIndex={-1}>{t`Request not found`}</h1>
      <p>
        {t`This address leaves out a part of the request's id, and no pending request fits \
it.`}{" "}
        {t`The request may be decided.`} <a href={href("/history")}>{t`Search the history`}</a>
      </p>
    </div>
  );
}

/** The button that had the focus is gone with the selection. */
function clearSelection(): void {
  changeAddress({ picked: new Set() });
  requestAnimationFrame(() => {
    const { activeElement } = document;
    const heading = document.querySelector<HTMLElement>(".list-pane h1");
    if (activeElement === document.body) heading?.focus();
  });
}

interface CurrentRow {
  readonly current: string | undefined;
  readonly isListed: boolean;
  readonly isWide: boolean;
}

/** The row of the request beside the list can be anywhere in the list, for example after a link. */
function useCurrentInView(
  scope: { readonly current: HTMLElement | null },
  { current, isListed, isWide }: CurrentRow,
): void {
  useLayoutEffect(() => {
    if (!isWide || !isListed || current === undefined) return;
    scope.current?.querySelector(".row.current")?.scrollIntoView({ block: "nearest" });
  }, [scope, current, isListed, isWide]);
}

interface ListProps {
  readonly address: InboxAddress;
  readonly shown: Shown;
  readonly isWide: boolean;
}

function List({ address, shown, isWide }: ListProps) {
  const scope = useRef<HTMLDivElement>(null);
  const filter = useRef<HTMLInputElement>(null);
  const current = useCurrent(shown, address);
  const { isSettled } = useAnchor(scope, shown);
  const { actions, unfolded, pickTo } = useSelection({ shown, current });
  useCurrentInView(scope, { current, isListed: shown.all.length > 0, isWide });
  const latest = useRef({ shown, current });
  latest.current = { shown, current };
  const moveTo = ({ first: { id } }: RequestGroup) =>
    changeAddress(isWide ? { open: id } : { at: id });

  useInboxKeys({
    scope,
    filter,
    isSettled,
    isBesideRequest: isWide && address.open !== "",
    groups: () => latest.current.shown.all,
    current: () => latest.current.current,
    moveTo,
    pick: ({ requests }) => actions.pick(requests),
    pickTo: (group) => {
      pickTo(group.key);
      moveTo(group);
    },
    pickAll: () => actions.pickAll(),
    clear: () => changeAddress({ picked: new Set() }),
  });

  const picked = pending.value.filter((one) => isPicked(address.picked, one) && isDecidable(one));
  return (
    <div class="pane list-pane" data-scroller>
      <Page
        title={t`Inbox`}
        actions={
          <Filter
            input={filter}
            value={address.filter}
            onInput={(text) => changeAddress({ filter: text })}
          />
        }
      >
        <TabTitle isShown={address.open === ""} />
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the rows in it are links. */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key is not pressed by mistake here. */}
        <div
          class="inbox"
          ref={scope}
          onClick={(event) => openRow(event, { isWide, isSettled, pickTo })}
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
        <BulkBar requests={picked} onClear={clearSelection} />
        <News />
      </Page>
    </div>
  );
}

/** The key of the row that the address names, or of the one that took its place. */
function useCurrent({ all }: Shown, { at }: InboxAddress): string | undefined {
  const key = useRef<string | undefined>(undefined);
  const named = all.find(({ requests }) =>
    requests.some((request) => request.id === at || addressOf(request) === at),
  );
  if (named !== undefined) key.current = named.key;
  else if (at === "") key.current = undefined;
  return key.current;
}
