import { Component, type ComponentChildren } from "preact";
import { t } from "../language/t.ts";

export interface FaultBoundaryProps {
  /** The part of the page, as in "Could not show the timeline." */
  readonly name: string;
  readonly children: ComponentChildren;
}

/** Keeps a fault in one part of a page from removing the rest of the page. */
export class FaultBoundary extends Component<FaultBoundaryProps, { hasFailed: boolean }> {
  static override getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render({ name, children }: FaultBoundaryProps) {
    if (this.state.hasFailed !== true) return children;
    return <p class="hint">{t`Could not show ${name}. The rest of the page is complete.`}</p>;
  }
}
