/** The past calls that a grant would have approved, before it is created. */

import type { GrantPreview as Preview } from "@countersign/review-api";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../../api.ts";
import { plural, rich, t } from "../../../language/t.ts";
import { messageOf } from "../../../parts/button.tsx";
import { When } from "../../../parts/when.tsx";
import { href } from "../../../route.ts";

export interface GrantScope {
  readonly from_request: string;
  readonly when: string;
  readonly any_session?: boolean;
}

/** Keys that are typed quickly need no preview each. */
const SETTLED_MS = 200;

interface Loaded {
  readonly preview?: Preview;
  readonly fault?: string;
}

function usePreview(scope: GrantScope): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({});
  const body = JSON.stringify(scope);
  useEffect(() => {
    const stop = new AbortController();
    setLoaded({});
    const timer = setTimeout(() => {
      api.call("POST /grant-preview", { body: JSON.parse(body), signal: stop.signal }).then(
        (preview) => !stop.signal.aborted && setLoaded({ preview }),
        (error) => !stop.signal.aborted && setLoaded({ fault: messageOf(error) }),
      );
    }, SETTLED_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [body]);
  return loaded;
}

function describe({ approved, denied, complete }: Preview): string {
  if (approved === 0) {
    return complete
      ? t`No other call of the last 7 days is like this.`
      : t`None of the last 3,000 calls is like this. Older calls were not searched.`;
  }
  const calls = complete
    ? plural(approved, {
        one: "In the last 7 days, it would have approved 1 call.",
        other: "In the last 7 days, it would have approved # calls.",
      })
    : plural(approved, {
        one: "Of the last 3,000 calls, it would have approved at least 1.",
        other: "Of the last 3,000 calls, it would have approved at least #.",
      });
  if (denied === 0) return calls;
  const people = plural(denied, {
    one: "A person denied 1 of them.",
    other: "People denied # of them.",
  });
  return `${calls} ${people}`;
}

interface GrantPreviewProps {
  readonly scope: GrantScope;
}

export function GrantPreview({ scope }: GrantPreviewProps) {
  const { preview, fault } = usePreview(scope);
  if (fault !== undefined) return <p class="hint">{fault}</p>;
  if (preview === undefined)
    return <p class="hint">{t`Searching the calls of the last 7 days…`}</p>;
  // Those that a person denied are the first ones.
  const denied = preview.examples.slice(0, preview.denied);
  return (
    <div id="grant-preview" role="status">
      <p class={preview.denied > 0 ? "warning" : "hint"}>{describe(preview)}</p>
      {denied.length > 0 && (
        <ul>
          {denied.map(({ id, created_at: at }) => (
            <li key={id}>
              <a href={href(`/history/${id}`)}>{rich`Denied call ${<When at={at} />}`}</a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
