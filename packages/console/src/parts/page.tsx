import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { Text } from "../exact/text.tsx";

export interface PageProps {
  readonly title: string;
  /** Actions for the whole page, at the end of the heading's line. */
  readonly actions?: ComponentChildren;
  /** A sentence under the heading. */
  readonly lead?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A screen: its heading, its title in the tab, and its content. */
export function Page({ title, actions, lead, children }: PageProps) {
  useLayoutEffect(() => {
    document.title = `${title} · Countersign`;
  }, [title]);
  return (
    <div class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>
          <Text>{title}</Text>
        </h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {children}
    </div>
  );
}
