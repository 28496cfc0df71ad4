/** Approves a call and the rest of its response, and shows the grant for the rest. */

import type { Grant } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { formatNumber, rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { When } from "../../parts/when.tsx";
import { href } from "../../route.ts";
import { REST_CALLS, type RestTools } from "./rest-grant.ts";
import type { Decision } from "./use-decision.ts";

export interface RestOfResponseProps {
  readonly decision: Decision;
  readonly canApprove: boolean;
}

export function RestOfResponse({ decision, canApprove }: RestOfResponseProps) {
  const [tools, setTools] = useState<RestTools>("same");
  return (
    <section class="rest" aria-labelledby="rest-title">
      <h3 id="rest-title">{t`Rest of this response`}</h3>
      <p class="hint" id="rest-terms">
        {effectOf(tools)} {t`The grant approves up to ${REST_CALLS} calls within 1 hour.`}{" "}
        {t`Policy still applies.`}{" "}
        {t`The agent reports the session and the turn, and the server cannot verify them.`}
      </p>
      <label class="check">
        <input
          type="checkbox"
          id="rest-any"
          checked={tools === "any"}
          onChange={({ currentTarget }) => setTools(currentTarget.checked ? "any" : "same")}
        />
        <span>{t`Later calls of any tool`}</span>
      </label>
      <button
        type="button"
        class="plain"
        id="approve-rest"
        disabled={!canApprove}
        aria-busy={decision.busy === "approve-rest"}
        aria-describedby="rest-terms"
        onClick={() => void decision.approveRest(tools)}
      >
        {t`Approve rest of response`}
      </button>
    </section>
  );
}

function effectOf(tools: RestTools): string {
  const scope = t`with the same instance, session and turn`;
  return tools === "any"
    ? t`Approves this call, and creates a grant for later calls of any tool ${scope}.`
    : t`Approves this call, and creates a grant for later calls of this tool ${scope}.`;
}

export interface RestGrantedProps {
  readonly grant: Grant;
  /** Undo is available, which revokes the grant too. */
  readonly isHeld: boolean;
  onRevoke(): Promise<void>;
}

/** The grant that this page created. */
export function RestGranted({ grant, isHeld, onRevoke }: RestGrantedProps) {
  const { tool, any_server: isAny, calls_max: max, state, expires_at: expiresAt } = grant;
  if (state === "revoked") return <p id="rest-granted">{t`The grant is revoked.`}</p>;
  const link = <a href={href(`/instances/${grant.instance.id}`)}>{t`Grant`}</a>;
  return (
    <div id="rest-granted">
      <p>
        {rich`${link} for the rest of this response: up to ${formatNumber(max)} calls of ${
          isAny === true && tool === "*" ? t`any tool` : <Text>{tool}</Text>
        }, ends ${<When at={expiresAt} />}.`}
      </p>
      {!isHeld && (
        <Button kind="quiet" onPress={onRevoke}>
          {t`Revoke the grant`}
        </Button>
      )}
    </div>
  );
}
