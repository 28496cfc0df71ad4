/** The reviewer who reviews a pending request, and the buttons to claim and release it. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useComputed } from "@preact/signals";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { now } from "../../time.ts";

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
        <Text>{claim.own ? "You are" : `${claim.reviewer} is`}</Text> reviewing this request.{" "}
      </span>
      {claim.own && (
        <Button
          kind="quiet"
          onPress={async () => {
            await api.call("DELETE /requests/{id}/claim", { path: { id: request.id } });
            await onChange();
          }}
        >
          Release
        </Button>
      )}
      {!claim.own && mayDecide(request) && (
        <Button kind="quiet" onPress={() => claimRequest(request, true).then(onChange)}>
          Take over
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
    <Button onPress={() => claimRequest(request, false).then(onChange)}>I am reviewing it</Button>
  );
}

/** A claim ends without a message of the server. */
function useIsClaimed({ claim }: ReviewedRequest): boolean {
  const until = claim === undefined ? 0 : Date.parse(claim.until);
  return useComputed(() => now.value < until).value;
}

function mayDecide({ may_decide: { approve, deny } }: ReviewedRequest): boolean {
  return approve || deny;
}

async function claimRequest({ id }: ReviewedRequest, takeOver: boolean): Promise<void> {
  await api.call("POST /requests/{id}/claim", { path: { id }, body: { take_over: takeOver } });
}
