import { t } from "../language/t.ts";
import { CopyButton } from "./copy-button.tsx";
import { Dialog } from "./dialog.tsx";

export interface SecretOnceProps {
  readonly title: string;
  /** Noun for the button: `Copy token`. */
  readonly what: string;
  readonly secret: string;
  readonly hint: string;
  onClose(): void;
}

/** A secret that the server returns once: shown here until the dialog closes. Enter copies it. */
export function SecretOnce({ title, what, secret, hint, onClose }: SecretOnceProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <button type="button" class="primary" onClick={onClose}>
          {t`Done`}
        </button>
      }
    >
      <p>{hint}</p>
      <p class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} what={what} isFirst />
      </p>
    </Dialog>
  );
}
