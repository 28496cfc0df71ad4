/** The open request: its script is loaded when the first one is opened. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../../language/t.ts";
import type { Flow } from "../request/flow.ts";
import type { RequestPaneProps } from "../request/screen.tsx";

type Pane = ComponentType<RequestPaneProps>;

const loaded: { pane: Pane | undefined } = { pane: undefined };

async function loadPane(): Promise<Pane> {
  loaded.pane ??= (await import("../request/screen.tsx")).RequestPane;
  return loaded.pane;
}

export interface OpenPaneProps {
  readonly id: string;
  readonly flow: Flow;
  readonly isBesideList: boolean;
}

export function OpenPane({ id, flow, isBesideList }: OpenPaneProps) {
  const [pane, setPane] = useState<{ readonly Pane: Pane } | undefined>(
    loaded.pane && { Pane: loaded.pane },
  );
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    loadPane().then(
      (Pane) => isCurrent && setPane({ Pane }),
      () => isCurrent && setFailed(true),
    );
    return () => {
      isCurrent = false;
    };
  }, []);
  return (
    <div class="pane request-pane" data-screen="request" data-scroller>
      {hasFailed && (
        <p class="alert" role="alert">
          {t`This screen could not be loaded. Reload the page.`}
        </p>
      )}
      {pane === undefined ? (
        !hasFailed && <p class="waiting">{t`Loading…`}</p>
      ) : (
        <pane.Pane id={id} flow={flow} isBesideList={isBesideList} />
      )}
    </div>
  );
}
