/**
 * The rows of the inbox: one's own first. As many are drawn as were scrolled to, and pages
 * of the server are read as their end comes near.
 */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../language/t.ts";
import { listing, listMore } from "../../live/pending-list.ts";
import { type InboxAddress, isPicked } from "./address.ts";
import type { RequestGroup } from "./groups.ts";
import { Row, type RowActions } from "./row.tsx";

const DRAWN_FIRST = 60;
const DRAWN_MORE = 100;
/** How far below the window rows are drawn already. */
const AHEAD = "800px";

export interface InboxListProps {
  readonly mine: readonly RequestGroup[];
  readonly others: readonly RequestGroup[];
  readonly address: InboxAddress;
  /** Key of the current row. */
  readonly current: string | undefined;
  readonly actions: RowActions;
  readonly unfolded: ReadonlySet<string>;
}

export function InboxList(props: InboxListProps) {
  const { mine, others, current } = props;
  const [drawn, setDrawn] = useState(DRAWN_FIRST);
  const all = mine.length + others.length;
  const at = current === undefined ? -1 : indexOf(props, current);
  // Key navigation finds the next row there.
  const count = Math.max(drawn, at + DRAWN_FIRST / 2);
  const hasMore = typeof listing.value.next === "string";
  const onSeen = useCallback(() => {
    if (count < all) setDrawn(count + DRAWN_MORE);
    else void listMore().catch(() => {});
  }, [count, all]);
  return (
    <>
      <Section {...props} id="mine" title={t`Needs your decision`} groups={mine.slice(0, count)} />
      <Section
        {...props}
        id="others"
        title={t`Waiting for others`}
        groups={others.slice(0, Math.max(0, count - mine.length))}
      />
      {(count < all || hasMore) && <End onSeen={onSeen} />}
    </>
  );
}

function indexOf({ mine, others }: InboxListProps, key: string): number {
  const at = mine.findIndex((group) => group.key === key);
  if (at >= 0) return at;
  const other = others.findIndex((group) => group.key === key);
  return other < 0 ? -1 : mine.length + other;
}

interface SectionProps extends InboxListProps {
  readonly id: string;
  readonly title: string;
  readonly groups: readonly RequestGroup[];
}

function Section({ id, title, groups, address, current, actions, unfolded }: SectionProps) {
  if (groups.length === 0) return null;
  return (
    <section aria-labelledby={`${id}-title`} id={id}>
      <h2 id={`${id}-title`}>{title}</h2>
      <ul class="rows">
        {groups.map(({ key, first, requests, differing }) => (
          <Row
            key={key}
            groupKey={key}
            first={first}
            requests={requests}
            differing={differing}
            isCurrent={key === current}
            isPicked={requests.every((request) => isPicked(address.picked, request))}
            isUnfolded={unfolded.has(key)}
            actions={actions}
          />
        ))}
      </ul>
    </section>
  );
}

/** The rows below are not rendered or loaded yet. */
function End({ onSeen }: { readonly onSeen: () => void }) {
  const element = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && onSeen(),
      { rootMargin: AHEAD },
    );
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, [onSeen]);
  return (
    <p class="hint more" ref={element}>
      {t`More calls are pending. The most urgent are shown.`}
    </p>
  );
}
