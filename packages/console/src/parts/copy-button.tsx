import { useEffect, useState } from "preact/hooks";
import { t } from "../language/t.ts";
import { Icon } from "./icon.tsx";

export interface CopyButtonProps {
  /** The exact text to copy. */
  readonly text: string;
  /** Noun for the button's name: `Copy credential`. */
  readonly what: string;
  /** Only the picture, beside a short text. */
  readonly isSmall?: boolean;
  /** It gets the focus of a dialog that opens. */
  readonly isFirst?: boolean;
}

const SHOWN_MS = 2_000;

/** Puts a text on the clipboard, and says whether that worked. */
export function CopyButton({ text, what, isSmall = false, isFirst = false }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<"copied" | "failed">();
  useEffect(() => {
    if (outcome === undefined) return;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const write = () =>
    // A page that is not served securely has no clipboard.
    (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"))).then(
      () => setOutcome("copied"),
      () => setOutcome("failed"),
    );
  const announcement =
    outcome === undefined ? "" : outcome === "copied" ? t`Copied` : t`Not copied`;
  return (
    <button
      type="button"
      autofocus={isFirst}
      class={isSmall ? "quiet copy small" : "copy"}
      aria-label={t`Copy ${what}`}
      title={t`Copy ${what}`}
      onClick={() => void write()}
    >
      <Icon name={outcome === "copied" ? "check" : "copy"} />
      {!isSmall && <span aria-hidden="true">{announcement || t`Copy`}</span>}
      <span class="spoken" role="status">
        {announcement}
      </span>
    </button>
  );
}
