import type { ComponentChildren, RefObject } from "preact";

export interface ScrollerProps {
  readonly children: ComponentChildren;
  readonly class: string;
  /** Name of the content, or the id of the heading that names it. */
  readonly label?: string;
  readonly labelledBy?: string;
  readonly id?: string;
  readonly box?: RefObject<HTMLDivElement | null>;
}

/** A box that scrolls by itself: it is reached and scrolled with the keyboard as well. */
export function Scroller({ children, class: name, label, labelledBy, id, box }: ScrollerProps) {
  return (
    // A group: the section around it is the landmark.
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div
      role="group"
      class={name}
      id={id}
      {...(box !== undefined && { ref: box })}
      aria-label={label}
      aria-labelledby={labelledBy}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: nothing in it takes the focus
      tabIndex={0}
    >
      {children}
    </div>
  );
}
