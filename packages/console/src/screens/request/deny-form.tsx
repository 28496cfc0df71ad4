/** Why a call is denied: the agent reads it, and an empty reason teaches it nothing. */

import { useEffect, useRef } from "preact/hooks";
import type { Decision } from "./use-decision.ts";

/** For those in a hurry; each can be changed before it is sent. */
const REASONS = ["Not now.", "Wrong target.", "Ask me first, and say why it is needed."];

export interface DenyFormProps {
  readonly decision: Decision;
  readonly canDeny: boolean;
}

export function DenyForm({ decision, canDeny }: DenyFormProps) {
  const { draft, edit, busy, deny, closeDenial } = decision;
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const isEmpty = draft.reason.trim() === "";
  return (
    <form
      class="deny-form"
      aria-label="Deny"
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          closeDenial();
          requestAnimationFrame(() => document.getElementById("deny")?.focus());
        }
      }}
    >
      <label for="reason">Reason (the agent reads it)</label>
      <textarea
        id="reason"
        ref={field}
        rows={2}
        maxLength={10_000}
        value={draft.reason}
        onInput={({ currentTarget }) => edit({ reason: currentTarget.value })}
      />
      <div class="reasons">
        {REASONS.map((reason) => (
          <button
            key={reason}
            type="button"
            class="chip"
            onClick={() => {
              edit({ reason });
              field.current?.focus();
            }}
          >
            {reason.replace(/\.$/, "")}
          </button>
        ))}
      </div>
      <div class="verdicts">
        <button type="button" class="plain" id="cancel-denial" onClick={closeDenial}>
          Cancel
        </button>
        <button
          type="button"
          class="danger solid"
          id="send-denial"
          disabled={isEmpty || !canDeny}
          aria-busy={busy === "deny"}
          onClick={() => void deny()}
        >
          Deny this call
        </button>
      </div>
    </form>
  );
}
