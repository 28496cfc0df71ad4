/** Actions for all selected requests. A dialog confirms each before anything is decided. */

import { useState } from "preact/hooks";
import { t } from "../../language/t.ts";
import { isLive } from "../../live/live.ts";
import type { PendingRequest } from "../../live/pending-request.ts";
import { Button } from "../../parts/button.tsx";
import { useKeys } from "../../parts/keys.tsx";
import { whyNotTogether } from "./bulk.ts";
import { ApproveDialog, countOf, DenyDialog } from "./bulk-dialogs.tsx";

interface OpenDialog {
  readonly about: "deny" | "approve";
  /** As they were selected: what is sent leaves the selection. */
  readonly requests: readonly PendingRequest[];
}

export interface BulkBarProps {
  readonly requests: readonly PendingRequest[];
  onClear(): void;
}

export function BulkBar({ requests, onClear }: BulkBarProps) {
  const [openDialog, setOpenDialog] = useState<OpenDialog>();
  const close = () => setOpenDialog(undefined);
  const done = () => {
    close();
    onClear();
  };
  const deniable = requests.filter(({ may_decide }) => may_decide.deny);
  const whyNot = whyNotTogether(requests);
  const rest = { onClose: close, onDone: done };
  const canDeny = deniable.length > 0 && isLive.value;
  const canApprove = whyNot === "" && isLive.value;
  const deny = () => setOpenDialog({ about: "deny", requests: deniable });
  const approve = () => setOpenDialog({ about: "approve", requests });
  useKeys([
    { key: "A", does: t`Approve the selected calls`, press: () => canApprove && approve() },
    { key: "D", does: t`Deny the selected calls`, press: () => canDeny && deny() },
  ]);
  return (
    <>
      {requests.length > 0 && (
        <section class="action-bar" aria-label={t`Selected`}>
          <p>
            <strong>{t`${countOf(requests)} selected`}</strong>
            {whyNot !== "" && (
              <span class="hint" id="why-not">
                {" "}
                {whyNot}
              </span>
            )}
          </p>
          <Button kind="quiet" onPress={onClear}>
            {t`Clear`}
          </Button>
          <Button kind="danger" disabled={!canDeny} onPress={deny}>
            {t`Deny…`}
            <span class="key" aria-hidden="true">
              D
            </span>
          </Button>
          <Button kind="primary" disabled={!canApprove} onPress={approve}>
            {t`Approve…`}
            <span class="key" aria-hidden="true">
              A
            </span>
          </Button>
        </section>
      )}
      {openDialog?.about === "deny" && <DenyDialog {...rest} requests={openDialog.requests} />}
      {openDialog?.about === "approve" && (
        <ApproveDialog {...rest} requests={openDialog.requests} />
      )}
    </>
  );
}
