/** Why a call is denied: the agent reads it, and an empty reason teaches it nothing. */

import { useEffect, useRef } from "preact/hooks";
import { t } from "../../language/t.ts";
import type { Decision } from "./use-decision.ts";

/** For those in a hurry; each can be changed before it is sent. In English, as agents read them. */
const REASONS = ["Not now.", "Wrong target.", "Ask me first, and say why it is needed."];

export interface DenyFormProps {
  readonly decision: Decision;
  readonly canDeny: boolean;
}

export function DenyForm({ decision, canDeny }: DenyFormProps) {
  const { draft, edit, busy, deny, closeDenial } = decision;
  const field = useRef<HTMLTextAreaElement>(null);
  // The bar is on the screen already: the page must not scroll away from the arguments.
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const cancel = () => {
    closeDenial();
    requestAnimationFrame(() => document.getElementById("deny")?.focus());
  };
  const ask = t`Ask a question: this call is denied, and the agent answers with another request`;
  const isEmpty = draft.reason.trim() === "";
  return (
    <form
      class="deny-form"
      aria-label={t`Deny`}
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          if (!isEmpty && canDeny && !event.repeat) void deny();
        } else if (event.key === "Escape") {
          event.preventDefault();
          cancel();
        }
      }}
    >
      <label for="reason">
        {draft.isQuestion ? t`Question to the agent` : t`Reason (the agent reads it)`}
      </label>
      <textarea
        id="reason"
        ref={field}
        rows={2}
        maxLength={10_000}
        value={draft.reason}
        onInput={({ currentTarget }) => edit({ reason: currentTarget.value })}
      />
      <div class="reasons" hidden={draft.isQuestion}>
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
      <label class="check">
        <input
          type="checkbox"
          id="ask-agent"
          checked={draft.isQuestion}
          onChange={({ currentTarget }) => edit({ isQuestion: currentTarget.checked })}
        />
        <span>{ask}</span>
      </label>
      <div class="verdicts">
        <button type="button" class="plain" id="cancel-denial" onClick={cancel}>
          {t`Cancel`}
        </button>
        <button
          type="button"
          class="danger solid"
          id="send-denial"
          disabled={isEmpty || !canDeny}
          aria-busy={busy === "deny"}
          onClick={() => void deny()}
        >
          <span>{draft.isQuestion ? t`Deny and ask` : t`Deny this call`}</span>
          <span class="key" aria-hidden="true">
            {t`Ctrl+Enter`}
          </span>
        </button>
      </div>
    </form>
  );
}
