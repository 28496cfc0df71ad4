/**
 * Something that is asked or shown before anything else can be done. The browser keeps the focus
 * inside, closes it with Esc and gives the focus back to where it was.
 */

import "./dialog.css";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Text } from "../exact/text.tsx";
import { t } from "../language/t.ts";
import { Icon } from "./icon.tsx";

export interface DialogProps {
  readonly title: string;
  /** It was closed in any way: the parent stops rendering it. */
  onClose(): void;
  /** Ctrl+Enter, from any field: the same as its last button. */
  onConfirm?(): void;
  readonly children: ComponentChildren;
  /** Buttons at its end; the one that goes on comes last. */
  readonly actions?: ComponentChildren;
  /** For what is read first: its heading is focused. */
  readonly isWide?: boolean;
}

/** Open for as long as it is rendered. Its first field is focused, else its heading. */
export function Dialog(props: DialogProps) {
  const { title, onClose, onConfirm, children, actions, isWide = false } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  const startsAtHeading = useRef(isWide);
  // Before the next key: what is typed at once belongs into the dialog.
  useLayoutEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    const fields = "[autofocus], textarea, input, select";
    // A field at the end would scroll past what is to be read.
    const first = startsAtHeading.current ? null : shown?.querySelector<HTMLElement>(fields);
    (first ?? shown?.querySelector("h2"))?.focus();
    return () => {
      shown?.close();
      // A dialog that is removed while open does not restore the focus by itself.
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? "dialog wide" : "dialog"}
      aria-labelledby={headingId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
        event.preventDefault();
        onConfirm?.();
      }}
      // A second Esc always closes it.
      onClose={() => dialog.current !== null && onClose()}
    >
      <header>
        <h2 id={headingId} tabIndex={-1}>
          <Text>{title}</Text>
        </h2>
        <button type="button" class="quiet close" aria-label={t`Close`} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
      {actions !== undefined && <footer>{actions}</footer>}
    </dialog>
  );
}
