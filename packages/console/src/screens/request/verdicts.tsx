/** The buttons of a pending request. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../language/t.ts";
import { verdictInProgress } from "../../requests/words.ts";
import { now } from "../../time.ts";
import type { AvailableActions } from "./available-actions.ts";
import { unlessDouble } from "./onward.tsx";
import type { Decision } from "./use-decision.ts";

export interface VerdictsProps {
  readonly request: ReviewedRequest;
  readonly actions: AvailableActions;
  readonly decision: Decision;
  /** Whether the page has been in place for a moment, so that presses act. */
  readonly isSettled: boolean;
}

export function Verdicts({ request, actions, decision, isSettled }: VerdictsProps) {
  const { busy } = decision;
  return (
    <div class="verdicts">
      {actions.canWithdraw && (
        <button
          type="button"
          class="quiet"
          id="withdraw"
          disabled={!actions.isOpen}
          aria-busy={busy === "withdraw"}
          onClick={() => void decision.withdraw()}
        >
          {t`Withdraw my approval`}
        </button>
      )}
      {actions.isHeld && <Undo request={request} decision={decision} />}
      {actions.isOffered && (
        <>
          <button
            type="button"
            class="danger"
            id="deny"
            disabled={!actions.canDeny}
            onClick={unlessDouble(decision.openDenial)}
          >
            <span>{t`Deny`}</span>
            <span class="key" aria-hidden="true">
              d
            </span>
          </button>
          <button
            type="button"
            class="primary"
            id="approve"
            disabled={!actions.canApprove || !isSettled}
            aria-busy={busy === "approve"}
            onClick={unlessDouble(() => void decision.approve())}
          >
            <span>{approveWords(request)}</span>
            <span class="key" aria-hidden="true">
              a
            </span>
          </button>
        </>
      )}
    </div>
  );
}

function approveWords({ requirement }: VerdictsProps["request"]): string {
  return requirement.confirm.kind === "passkey" ? t`Approve with a passkey` : t`Approve`;
}

function Undo({ request, decision }: Pick<VerdictsProps, "request" | "decision">) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  const { held } = request;
  const leftMs = Date.parse(held?.commits_at ?? "") - now.value;
  const what = verdictInProgress({ verdict: held?.verdict ?? "approve" });
  return (
    <div class="held" id="held">
      <span aria-hidden="true">
        {leftMs > 0 ? t`${what} in ${Math.ceil(leftMs / 1000)} s` : t`${what}…`}
      </span>
      <span class="spoken" role="status">
        {t`${what} in a few seconds, unless you undo it.`}
      </span>
      <button
        type="button"
        class="plain"
        id="undo"
        ref={button}
        disabled={leftMs <= 0}
        aria-busy={decision.busy === "undo"}
        onClick={() => void decision.undo()}
      >
        {t`Undo`}
      </button>
    </div>
  );
}
