/**
 * The bar at the bottom of the screen: the status, the time left by the server's clock, what an
 * approval requires, and the buttons. Buttons keep their position while a request is pending, so
 * that a second tap cannot hit another button.
 */

import type { ReviewedRequest } from "@countersign/review-api";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { When } from "../../parts/when.tsx";
import { keysOn } from "../../preferences.ts";
import * as words from "../../requests/words.ts";
import { now } from "../../time.ts";
import { RequiredFields } from "./approval-fields.tsx";
import { DenyForm } from "./deny-form.tsx";
import type { Flow } from "./flow.ts";
import { Onward } from "./onward.tsx";
import { RestGranted } from "./rest-of-response.tsx";
import { Verdicts, type VerdictsProps } from "./verdicts.tsx";
import { VotesNeeded } from "./votes-needed.tsx";

/** Announced once more when so much time is left. */
const LAST_CALL_MS = 60_000;

export interface DecisionBarProps extends VerdictsProps {
  readonly flow: Flow;
  /** The same call was denied before: approving it needs a note. */
  readonly wasDeniedBefore: boolean;
  /** Why what is shown may be old; empty while it is not. */
  readonly trouble: string;
  readonly bar: RefObject<HTMLElement | null>;
}

export function DecisionBar(props: DecisionBarProps) {
  const { request, actions, decision, isSettled, bar } = props;
  const isPending = request.status === "pending";
  return (
    <footer
      class="decide"
      id="decide"
      ref={bar}
      data-keys={keysOn.value ? (isSettled ? "ready" : "waiting") : "off"}
    >
      <div class="inner">
        {decision.alert !== "" && (
          <p class="alert" id="alert" role="alert">
            <Text>{decision.alert}</Text>
          </p>
        )}
        <Standing {...props} />
        {decision.isDenying && isPending ? (
          <DenyForm decision={decision} canDeny={actions.canDeny} />
        ) : (
          <Choices {...props} />
        )}
        <p class="spoken" role="status">
          {decision.announcement}
        </p>
      </div>
    </footer>
  );
}

/** The status of the request, and what is missing. */
function Standing(props: DecisionBarProps) {
  const { request, actions, decision, trouble, bar } = props;
  const isPending = request.status === "pending";
  const status = useFocusOnEnd(isPending, bar);
  return (
    <div class="standing">
      <p
        id="status"
        role="status"
        tabIndex={-1}
        ref={status}
        class={trouble === "" ? request.status : "trouble"}
      >
        <Text>{trouble || actions.status}</Text>
      </p>
      {isPending && <Left request={request} />}
      {isPending && <VotesNeeded request={request} />}
      <Ended request={request} />
      {!isPending && decision.draft.reason !== "" && <Unsent reason={decision.draft.reason} />}
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
  );
}

function Choices(props: DecisionBarProps) {
  const { request, actions, decision, flow, wasDeniedBefore } = props;
  if (!actions.isOffered && !actions.isHeld) return <Onward flow={flow} />;
  return (
    <>
      {actions.canFill && (
        <RequiredFields request={request} decision={decision} wasDeniedBefore={wasDeniedBefore} />
      )}
      <Verdicts {...props} />
    </>
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
        {isSoon && (leftMs <= 0 ? t`Time is up.` : t`Less than a minute is left.`)}
      </p>
    </>
  );
}

/** The recorded outcome. */
function Ended({ request: { status, decision } }: { readonly request: ReviewedRequest }) {
  if (status === "pending" || !decision) return null;
  const { note, expires_at: expiresAt } = decision;
  const isOver = expiresAt !== undefined && Date.parse(expiresAt) <= now.value;
  return (
    <div class="ended">
      {note !== undefined && note !== null && note !== "" && (
        <p id="said">{rich`Note: ${<Text>{note}</Text>}`}</p>
      )}
      {expiresAt !== undefined && (
        <p class="hint" id="expires">
          {isOver
            ? rich`Approval expired ${<When at={expiresAt} exact />}`
            : rich`Valid until ${<When at={expiresAt} exact />}`}
        </p>
      )}
    </div>
  );
}

/** The request ended while a reason was typed. */
function Unsent({ reason }: { readonly reason: string }) {
  return (
    <p class="hint" id="unsent">
      {rich`Your reason was not sent: ${<Text>{reason}</Text>}`}
    </p>
  );
}
