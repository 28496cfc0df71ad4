/** Opens the dialog that allows, or denies, more calls like this one. */

import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { t } from "../../../language/t.ts";
import { Button } from "../../../parts/button.tsx";
import { useKeys } from "../../../parts/keys.tsx";
import { may } from "../../../powers.ts";
import type { Shown } from "../use-request.ts";
import type { MoreDialogProps } from "./more-dialog.tsx";

export interface MoreButtonProps {
  readonly shown: Shown;
}

export function mayCreateGrant({ request }: Shown): boolean {
  return may("decide") && request.requirement.grants;
}

export function MoreButton({ shown }: MoreButtonProps) {
  const isOffered = may("publish") || mayCreateGrant(shown);
  return isOffered ? <Offered shown={shown} /> : null;
}

function Offered({ shown }: MoreButtonProps) {
  const [dialog, setDialog] = useState<{ readonly Dialog: ComponentType<MoreDialogProps> }>();
  const open = async () => {
    const { MoreDialog } = await import("./more-dialog.tsx");
    setDialog({ Dialog: MoreDialog });
  };
  useKeys([
    {
      key: "m",
      does: t`Allow more calls like this`,
      press() {
        // The dialog gives the focus back to it.
        document.getElementById("more")?.focus({ preventScroll: true });
        void open();
      },
    },
  ]);
  return (
    <>
      <Button id="more" onPress={open}>
        {t`Allow more like this…`}
        <span class="key" aria-hidden="true">
          m
        </span>
      </Button>
      {dialog !== undefined && (
        <dialog.Dialog
          shown={shown}
          canGrant={mayCreateGrant(shown)}
          onClose={() => setDialog(undefined)}
        />
      )}
    </>
  );
}
