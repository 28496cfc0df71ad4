/**
 * A button for an action that cannot be undone: it asks first, names the consequence, and reports
 * the result. Afterwards the focus is on the heading of its section or page, because its row may be
 * gone.
 */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { t } from "../language/t.ts";
import { announce } from "./announce.tsx";
import { Button, type ButtonProps } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

export interface ConfirmButtonProps {
  /** The text of the button. */
  readonly children: ComponentChildren;
  readonly kind?: ButtonProps["kind"];
  /** A question with the name of the thing. */
  readonly title: string;
  /** The consequence, as a sentence. */
  readonly consequence: ComponentChildren;
  /** The verb and its object, on the button of the dialog. */
  readonly action: string;
  /** The result, as a sentence. */
  readonly done: string;
  onConfirm(): Promise<void>;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const { children, kind = "quiet", title, consequence, action, done, onConfirm } = props;
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  const close = () => setOpen(false);
  async function confirm(): Promise<void> {
    const heading = place.current?.closest("section")?.querySelector<HTMLElement>("h2");
    await onConfirm();
    close();
    announce(done);
    requestAnimationFrame(() => focusOn(heading));
  }
  return (
    <span ref={place}>
      <Button kind={kind} onPress={() => setOpen(true)}>
        {children}
      </Button>
      {isOpen && (
        <Dialog
          title={title}
          onClose={close}
          actions={
            <>
              <Button onPress={close}>{t`Cancel`}</Button>
              <Button kind="danger" onPress={confirm}>
                {action}
              </Button>
            </>
          }
        >
          <p>{consequence}</p>
        </Dialog>
      )}
    </span>
  );
}

function focusOn(heading: HTMLElement | null | undefined): void {
  const place = heading ?? document.querySelector<HTMLElement>("#main h1");
  if (place === null) return;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
}
