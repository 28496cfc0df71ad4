/** The reviewer who reviews a pending request, and the buttons to claim and release it. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useComputed } from "@preact/signals";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { now } from "../../time.ts";

export interface ClaimedProps {
  readonly request: ReviewedRequest;
  /** Rereads the request. */
  onChange(): Promise<void>;
}

export function Claimed({ request, onChange }: ClaimedProps) {
  const { claim, may_decide: mayDecide } = request;
  const until = claim === undefined ? 0 : Date.parse(claim.until);
  // A claim ends without a message of the server.
  const isClaimed = useComputed(() => now.value < until).value && claim !== undefined;
  if (request.status !== "pending" || !(isClaimed || mayDecide.approve || mayDecide.deny)) {
    return null;
  }
  const path = { id: request.id };
  const send = async (takeOver: boolean) => {
    await api.call("POST /requests/{id}/claim", { path, body: { take_over: takeOver } });
    await onChange();
  };
  return (
    <p class="claimed" id="claimed">
      {isClaimed && (
        <span role="status">
          <Text>{claim.own ? "You are" : `${claim.reviewer} is`}</Text> reviewing this request.{" "}
        </span>
      )}
      {!isClaimed && (
        <Button kind="quiet" onPress={() => send(false)}>
          I am reviewing it
        </Button>
      )}
      {isClaimed && claim.own && (
        <Button
          kind="quiet"
          onPress={async () => {
            await api.call("DELETE /requests/{id}/claim", { path });
            await onChange();
          }}
        >
          Release
        </Button>
      )}
      {isClaimed && !claim.own && (mayDecide.approve || mayDecide.deny) && (
        <Button kind="quiet" onPress={() => send(true)}>
          Take over
        </Button>
      )}
    </p>
  );
}
