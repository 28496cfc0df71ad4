/** Large numbers side by side, each with its name and a hint. */

import "./figures.css";
import type { ComponentChildren } from "preact";

export function FigureList({ children }: { readonly children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

export interface FigureProps {
  readonly name: string;
  readonly hint: string;
  readonly children: ComponentChildren;
}

export function Figure({ name, hint, children }: FigureProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span class="figure">{children}</span>
        <span class="hint">{hint}</span>
      </dd>
    </div>
  );
}
