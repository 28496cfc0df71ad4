/** Creates a grant for calls like a given one. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useRef, useState } from "preact/hooks";
import { api } from "../../../api.ts";
import { plural, t } from "../../../language/t.ts";
import { announce } from "../../../parts/announce.tsx";
import { Field, Form, Choice as Select } from "../../../parts/form.tsx";
import { GrantPreview } from "./grant-preview.tsx";
import { type Choice, closedCondition } from "./terms.ts";

const LASTS = [
  ["30m", t`30 minutes`],
  ["2h", t`2 hours`],
  ["8h", t`8 hours`],
  ["24h", t`24 hours`],
] as const;

const SESSIONS = [
  ["same", t`Only the session of this call, if the agent names one`],
  ["any", t`Every session of this instance`],
] as const;

export interface GrantFormProps {
  readonly request: ReviewedRequest;
  readonly choice: Choice;
  onClose(): void;
}

export function GrantForm({ request, choice, onClose }: GrantFormProps) {
  const [session, setSession] = useState("same");
  const keyFor = useIdempotencyKey();
  const scope = {
    from_request: request.id,
    when: closedCondition(choice),
    ...(session === "any" && { any_session: true }),
  };
  return (
    <Form
      submit={t`Create the grant`}
      onSubmit={async (values) => {
        const calls = Number(values("calls"));
        const body = { ...scope, calls, lasts: values("lasts") };
        const grant = await api.call("POST /grants", { body, idempotencyKey: keyFor(body) });
        onClose();
        announce(
          plural(
            grant.calls_max,
            {
              one: "Created a grant for up to 1 call of {0}.",
              other: "Created a grant for up to # calls of {0}.",
            },
            grant.tool,
          ),
        );
      }}
    >
      <Field name="calls" label={t`Number of calls`} value="10" />
      <Select name="lasts" label={t`Ends after`} value="30m" options={LASTS} />
      <Select
        name="session"
        label={t`Sessions`}
        value="same"
        options={SESSIONS}
        onChange={setSession}
      />
      <GrantPreview scope={scope} />
      <p class="hint">
        {t`Policy still applies.`} {t`This call itself is not decided by the grant.`}
      </p>
    </Form>
  );
}

/** One key for each order: if its answer is lost, sending it again creates no second grant. */
function useIdempotencyKey(): (order: object) => string {
  const sent = useRef({ text: "", key: "" });
  return (order) => {
    const text = JSON.stringify(order);
    if (sent.current.text !== text) sent.current = { text, key: crypto.randomUUID() };
    return sent.current.key;
  };
}
