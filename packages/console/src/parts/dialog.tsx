/** A question that has to be answered before anything else; Escape closes it. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
  onClose(): void;
}

/** While it stands there, nothing behind it can be reached. The focus goes back to where it was. */
export function Dialog({ title, children, isWide = false, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    // What is asked for comes before the way out.
    element?.querySelector<HTMLElement>("textarea, input")?.focus();
    return () => {
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? "dialog wide" : "dialog"}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="quiet icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
