/**
 * The bar at the bottom of the screen: the status, the time left by the server's clock, and the
 * buttons. Buttons keep their position, so that a second tap cannot hit another button.
 */

import type { ReviewedRequest } from "@countersign/review-api";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { keysOn } from "../../preferences.ts";
import * as words from "../../requests/words.ts";
import { href } from "../../route.ts";
import { now } from "../../time.ts";
import type { AvailableActions } from "./available-actions.ts";
import { DenyForm } from "./deny-form.tsx";
import { RestGranted } from "./rest-of-response.tsx";
import type { Decision } from "./use-decision.ts";

/** Announced once more when so much time is left. */
const LAST_CALL_MS = 60_000;

export interface DecisionBarProps {
  readonly request: ReviewedRequest;
  readonly actions: AvailableActions;
  readonly decision: Decision;
  /** Why what is shown may be old; empty while it is not. */
  readonly trouble: string;
  /** Whether single keys act now. */
  readonly hasKeys: boolean;
  readonly bar: RefObject<HTMLElement | null>;
}

export function DecisionBar(props: DecisionBarProps) {
  const { request, actions, decision, trouble, hasKeys, bar } = props;
  const isPending = request.status === "pending";
  const status = useFocusOnEnd(isPending, bar);
  const text = trouble || actions.status;
  return (
    <footer
      class="decide"
      id="decide"
      ref={bar}
      data-keys={keysOn.value ? (hasKeys ? "ready" : "waiting") : "off"}
    >
      <div class="inner">
        {decision.alert !== "" && (
          <p class="alert" id="alert" role="alert">
            <Text>{decision.alert}</Text>
          </p>
        )}
        <div class="standing">
          <p
            id="status"
            role="status"
            tabIndex={-1}
            ref={status}
            class={trouble === "" ? request.status : "trouble"}
          >
            <Text>{text}</Text>
          </p>
          {isPending && <Left request={request} />}
          <Ended request={request} />
          {decision.grant !== undefined && (
            <RestGranted
              grant={decision.grant}
              isHeld={actions.isHeld}
              onRevoke={decision.revokeGrant}
            />
          )}
          {actions.hint !== "" && (
            <p class="hint" id="hint">
              <Text>{actions.hint}</Text>
            </p>
          )}
        </div>
        {decision.isDenying && isPending ? (
          <DenyForm decision={decision} canDeny={actions.canDeny} />
        ) : (
          <Verdicts {...props} />
        )}
        <p class="spoken" role="status">
          {decision.announcement}
        </p>
      </div>
    </footer>
  );
}

/** After a button was pressed, the focus moves to its result. */
function useFocusOnEnd(isPending: boolean, bar: RefObject<HTMLElement | null>) {
  const status = useRef<HTMLParagraphElement>(null);
  const wasPending = useRef(isPending);
  useEffect(() => {
    const { activeElement } = document;
    const isLost = activeElement === document.body || bar.current?.contains(activeElement) === true;
    if (wasPending.current && !isPending && isLost) status.current?.focus({ preventScroll: true });
    wasPending.current = isPending;
  }, [isPending, bar]);
  return status;
}

function Left({ request }: { readonly request: ReviewedRequest }) {
  const leftMs = Date.parse(request.deadline_at) - now.value;
  const isSoon = leftMs <= LAST_CALL_MS;
  return (
    <>
      <p class={isSoon ? "left soon" : "left"} id="left">
        {words.timeLeft(leftMs)}
      </p>
      <p class="spoken" role="status">
        {isSoon && (leftMs <= 0 ? "Time is up." : "Less than a minute is left.")}
      </p>
    </>
  );
}

/** The recorded outcome. */
function Ended({ request: { status, decision } }: { readonly request: ReviewedRequest }) {
  if (status === "pending" || !decision) return null;
  const { note, expires_at: expiresAt } = decision;
  const isOver = expiresAt !== undefined && Date.parse(expiresAt) <= now.value;
  const time = (at: string) =>
    new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  return (
    <div class="ended">
      {note !== undefined && note !== null && note !== "" && (
        <p id="said">
          Note: <Text>{note}</Text>
        </p>
      )}
      {expiresAt !== undefined && (
        <p class="hint" id="expires">
          {isOver ? "Approval expired" : "Valid until"}{" "}
          <time dateTime={expiresAt}>{time(expiresAt)}</time>
        </p>
      )}
    </div>
  );
}

function Verdicts({ request, actions, decision }: DecisionBarProps) {
  const { busy } = decision;
  if (!actions.isOffered && !actions.isHeld) {
    return request.status === "pending" ? null : (
      <a class="button plain" href={href("/inbox")}>
        Back to the inbox
      </a>
    );
  }
  const isSigned = request.requirement.confirm.kind === "passkey";
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
          Withdraw my approval
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
            onClick={decision.openDenial}
          >
            <span>Deny</span>
            <span class="key" aria-hidden="true">
              d
            </span>
          </button>
          <button
            type="button"
            class="primary"
            id="approve"
            disabled={!actions.canApprove}
            aria-busy={busy === "approve"}
            onClick={() => void decision.approve()}
          >
            <span>{isSigned ? "Approve with a passkey" : "Approve"}</span>
            <span class="key" aria-hidden="true">
              a
            </span>
          </button>
        </>
      )}
    </div>
  );
}

function Undo({ request, decision }: Pick<DecisionBarProps, "request" | "decision">) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus({ preventScroll: true }), []);
  const { held } = request;
  const leftMs = Date.parse(held?.commits_at ?? "") - now.value;
  const what = held?.verdict === "deny" ? "Denying" : "Approving";
  return (
    <div class="held" id="held">
      <span aria-hidden="true">
        {leftMs > 0 ? `${what} in ${Math.ceil(leftMs / 1000)} s` : `${what}…`}
      </span>
      <span class="spoken" role="status">
        {what} in a few seconds, unless you undo it.
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
        Undo
      </button>
    </div>
  );
}
