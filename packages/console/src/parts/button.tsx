/** A button that does its work once at a time and says what went wrong beside it. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { t } from "../language/t.ts";

export interface ButtonProps {
  readonly children: ComponentChildren;
  /** The action. Pressing the button again while it runs does nothing. */
  onPress(): Promise<void> | void;
  readonly kind?: "primary" | "danger" | "quiet" | "plain";
  readonly disabled?: boolean;
  /** Why it is disabled, or more about it. */
  readonly title?: string;
  readonly id?: string;
}

export function Button({ children, onPress, kind = "plain", disabled, title, id }: ButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  async function press(): Promise<void> {
    if (isBusy) return;
    setBusy(true);
    setFault("");
    try {
      await onPress();
    } catch (error) {
      setFault(messageOf(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <>
      <button
        type="button"
        class={kind}
        id={id}
        disabled={disabled}
        title={title}
        aria-busy={isBusy}
        onClick={() => void press()}
      >
        {children}
      </button>
      {fault !== "" && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </>
  );
}

/** Words for the person; the server's own where it refused. */
export function messageOf(error: unknown): string {
  if (error instanceof Error && error.name === "Refusal") return error.message;
  console.error(error);
  return t`Something went wrong here. Reload the page.`;
}
