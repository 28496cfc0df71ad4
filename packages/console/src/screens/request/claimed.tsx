/** The reviewer who reviews a pending request, and the buttons to claim and release it. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useComputed } from "@preact/signals";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { now } from "../../time.ts";
import { focusOnCall } from "./focus-on-call.ts";
import { HandOverButton } from "./hand-over.tsx";

export interface ClaimProps {
  readonly request: ReviewedRequest;
  /** Rereads the request. */
  onChange(): Promise<void>;
}

/** The current claim, above the arguments. */
export function CurrentClaim({ request, onChange }: ClaimProps) {
  const isClaimed = useIsClaimed(request);
  const { claim, status } = request;
  if (claim === undefined || !isClaimed || status !== "pending") return null;
  return (
    <p class="claimed" id="claimed">
      <span role="status">
        {claim.own
          ? t`You are reviewing this request.`
          : rich`${<Text>{claim.reviewer}</Text>} is reviewing this request.`}{" "}
      </span>
      {claim.own && (
        <Button
          kind="quiet"
          onPress={async () => {
            await api.call("DELETE /requests/{id}/claim", { path: { id: request.id } });
            await showChange(onChange);
          }}
        >
          {t`Release`}
        </Button>
      )}
      {claim.own && <HandOverButton request={request} onChange={onChange} />}
      {!claim.own && mayDecide(request) && (
        <Button
          kind="quiet"
          onPress={() => claimRequest(request, true).then(() => showChange(onChange))}
        >
          {t`Take over`}
        </Button>
      )}
    </p>
  );
}

/** The button to claim the request. It is below the arguments, which need the space above it. */
export function ClaimButton({ request, onChange }: ClaimProps) {
  const isClaimed = useIsClaimed(request);
  if (isClaimed || request.status !== "pending" || !mayDecide(request)) return null;
  return (
    <Button onPress={() => claimRequest(request, false).then(() => showChange(onChange))}>
      {t`I am reviewing it`}
    </Button>
  );
}

/** A claim ends without a message of the server. */
function useIsClaimed({ claim }: ReviewedRequest): boolean {
  const until = claim === undefined ? 0 : Date.parse(claim.until);
  return useComputed(() => now.value < until).value;
}

/** The pressed button disappears, and would lose the focus. */
function showChange(onChange: ClaimProps["onChange"]): Promise<void> {
  focusOnCall();
  return onChange();
}

function mayDecide({ may_decide: { approve, deny } }: ReviewedRequest): boolean {
  return approve || deny;
}

async function claimRequest({ id }: ReviewedRequest, takeOver: boolean): Promise<void> {
  await api.call("POST /requests/{id}/claim", { path: { id }, body: { take_over: takeOver } });
}
