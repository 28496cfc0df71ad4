/** Actions for all selected requests. A dialog confirms each before anything is decided. */

import { useState } from "preact/hooks";
import { isLive } from "../../live/live.ts";
import type { PendingRequest } from "../../live/pending-request.ts";
import { Button } from "../../parts/button.tsx";
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
  return (
    <>
      {requests.length > 0 && (
        <section class="action-bar" aria-label="Selected">
          <p>
            <strong>{countOf(requests)} selected</strong>
            {whyNot !== "" && (
              <span class="hint" id="why-not">
                {" "}
                {whyNot}
              </span>
            )}
          </p>
          <Button kind="quiet" onPress={onClear}>
            Clear
          </Button>
          <Button
            kind="danger"
            disabled={deniable.length === 0 || !isLive.value}
            onPress={() => setOpenDialog({ about: "deny", requests: deniable })}
          >
            Deny…
          </Button>
          <Button
            kind="primary"
            disabled={whyNot !== "" || !isLive.value}
            onPress={() => setOpenDialog({ about: "approve", requests })}
          >
            Approve…
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
