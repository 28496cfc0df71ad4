/** Gives the own claim to another reviewer who can decide the request. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api, Refusal } from "../../api.ts";
import { t } from "../../language/t.ts";
import { announce } from "../../parts/announce.tsx";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Choice, Form } from "../../parts/form.tsx";
import { Fault } from "../../parts/notice.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { session } from "../../session.ts";
import { focusOnCall } from "./focus-on-call.ts";
import { whoCanReceive } from "./who-can.ts";

export interface HandOverProps {
  readonly request: ReviewedRequest;
  /** Rereads the request. */
  onChange(): Promise<void>;
}

export function HandOverButton(props: HandOverProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind="quiet" onPress={() => setOpen(true)}>
        {t`Hand over…`}
      </Button>
      {isOpen && <HandOverDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function HandOverDialog({ request, onChange, onClose }: HandOverProps & { onClose(): void }) {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /reviewers", { signal }),
    "reviewers",
  );
  const me = session.value?.project?.reviewer.name;
  const receivers = value && whoCanReceive(request, value.reviewers, me);
  const handOver = async (reviewerId: string) => {
    if (reviewerId === "") {
      throw new Refusal(400, { param: "reviewer_id", message: t`Select a reviewer.` });
    }
    const path = { id: request.id };
    const body = { reviewer_id: reviewerId };
    const { handed_over: isDone } = await api.call("POST /requests/{id}/claim/hand-over", {
      path,
      body,
    });
    const name = receivers?.find(({ id }) => id === reviewerId)?.name ?? "";
    onClose();
    announce(isDone ? t`Handed over to ${name}.` : t`You do not have this claim any more.`);
    await onChange();
    // The closed dialog gave the focus back to a button that has disappeared.
    focusOnCall();
  };
  return (
    <Dialog title={t`Hand over your claim`} onClose={onClose}>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <p class="hint">{t`Loading…`}</p>}
      {receivers?.length === 0 && <p>{t`No other reviewer can decide this request.`}</p>}
      {receivers !== undefined && receivers.length > 0 && (
        <Form submit={t`Hand over`} onSubmit={(values) => handOver(values("reviewer_id"))}>
          <Choice
            name="reviewer_id"
            label={t`Reviewer`}
            hint={t`The reviewer is notified, and can release the claim.`}
            options={[
              ["", t`Select a reviewer`],
              ...receivers.map(({ id, name }) => [id, name] as const),
            ]}
          />
        </Form>
      )}
    </Dialog>
  );
}
