/** Fields of an approval: typed characters, a note, and its expiry. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useEffect, useRef } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { offersRest } from "./rest-grant.ts";
import { RestOfResponse } from "./rest-of-response.tsx";
import { type Decision, isTyped } from "./use-decision.ts";
import type { Shown } from "./use-request.ts";

const MATCH_LABEL =
  "To approve, type the last 4 characters of the request id, as shown in the agent's session";

export interface ApprovalFieldsProps {
  readonly shown: Shown;
  readonly decision: Decision;
  readonly wasDeniedBefore: boolean;
  readonly canApprove: boolean;
}

export function ApprovalFields(props: ApprovalFieldsProps) {
  const { shown, decision, wasDeniedBefore, canApprove } = props;
  const { request } = shown;
  const { draft, edit, faults } = decision;
  const isNeeded = request.requirement.note === "required" || wasDeniedBefore;
  return (
    <form
      class="panel"
      id="form"
      noValidate
      aria-labelledby="approval-title"
      // Enter in a field decides nothing.
      onSubmit={(event) => event.preventDefault()}
    >
      <h2 id="approval-title">Approval details</h2>
      {isTyped(request) && <Confirmation request={request} decision={decision} />}
      <div class="field">
        <label for="note">Note for the agent</label>
        <textarea
          id="note"
          rows={2}
          maxLength={10_000}
          value={draft.note}
          onInput={({ currentTarget }) => edit({ note: currentTarget.value })}
          {...faultOf("note", faults)}
        />
        <p class="hint">{isNeeded ? "Required. The agent reads it." : "The agent reads it."}</p>
        <Fault param="note" faults={faults} />
      </div>
      <Validity request={request} decision={decision} />
      {offersRest(shown) && <RestOfResponse decision={decision} canApprove={canApprove} />}
    </form>
  );
}

interface PartProps {
  readonly request: ReviewedRequest;
  readonly decision: Decision;
}

function Confirmation({ request, decision: { draft, edit, faults } }: PartProps) {
  const { kind, text = "" } = request.requirement.confirm;
  return (
    <div class="field">
      <label for="confirmation">{kind === "type" ? "To approve, type exactly" : MATCH_LABEL}</label>
      {kind === "type" && (
        <p class="typed" id="typed">
          <Text>{text}</Text>
        </p>
      )}
      <input
        id="confirmation"
        type="text"
        autocomplete="off"
        autocapitalize="none"
        autocorrect="off"
        spellcheck={false}
        value={draft.confirmation}
        onInput={({ currentTarget }) => edit({ confirmation: currentTarget.value })}
        {...faultOf("confirmation", faults)}
      />
      <Fault param="confirmation" faults={faults} />
    </div>
  );
}

function Validity({ request, decision: { draft, edit, faults } }: PartProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const longest = request.requirement.valid_for_max;
  const hasFault = faults.valid_for !== undefined;
  useEffect(() => {
    if (hasFault && details.current !== null) details.current.open = true;
  }, [hasFault]);
  return (
    <details id="validity" ref={details}>
      <summary>Approval expires after</summary>
      <div class="field">
        <label for="valid_for">Longest time until the call starts</label>
        <input
          id="valid_for"
          type="text"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          placeholder="5m"
          value={draft.validFor}
          onInput={({ currentTarget }) => edit({ validFor: currentTarget.value })}
          {...faultOf("valid_for", faults)}
        />
        <p class="hint">
          {longest === undefined
            ? "For example 30s, 5m or 2h. Leave empty for the default."
            : `For example 30s or 5m, at most ${longest}. Leave empty for the default.`}
        </p>
        <Fault param="valid_for" faults={faults} />
      </div>
    </details>
  );
}

function faultOf(param: string, faults: Decision["faults"]) {
  if (faults[param] === undefined) return {};
  return { "aria-invalid": true, "aria-describedby": `${param}-fault` } as const;
}

function Fault({ param, faults }: { readonly param: string; readonly faults: Decision["faults"] }) {
  const fault = faults[param];
  if (fault === undefined) return null;
  return (
    <p class="fault" id={`${param}-fault`} role="alert">
      {fault}
    </p>
  );
}
