/** Fields of an approval: typed characters, a note, and its expiry. */

import type { ReviewedRequest } from "@countersign/review-api";
import { useEffect, useRef } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { t } from "../../language/t.ts";
import { offersRest } from "./rest-grant.ts";
import { RestOfResponse } from "./rest-of-response.tsx";
import { type Decision, isTyped } from "./use-decision.ts";
import type { Shown } from "./use-request.ts";

export interface ApprovalFieldsProps {
  readonly shown: Shown;
  readonly decision: Decision;
  readonly wasDeniedBefore: boolean;
  readonly canApprove: boolean;
}

/** The optional parts of an approval, at the end of the page. */
export function ApprovalFields(props: ApprovalFieldsProps) {
  const { shown, decision, wasDeniedBefore, canApprove } = props;
  const { request } = shown;
  return (
    <form
      class="panel"
      id="form"
      noValidate
      aria-labelledby="approval-title"
      // Enter in a field decides nothing.
      onSubmit={(event) => event.preventDefault()}
    >
      <h2 id="approval-title">{t`Approval details`}</h2>
      {!isNoteRequired(request, wasDeniedBefore) && (
        <Note decision={decision} hint={t`The agent reads it.`} />
      )}
      <Validity request={request} decision={decision} />
      {offersRest(shown) && <RestOfResponse decision={decision} canApprove={canApprove} />}
    </form>
  );
}

export interface RequiredFieldsProps {
  readonly request: ReviewedRequest;
  readonly decision: Decision;
  readonly wasDeniedBefore: boolean;
}

/** The parts without which there is no approval, beside its button. */
export function RequiredFields({ request, decision, wasDeniedBefore }: RequiredFieldsProps) {
  const hasNote = isNoteRequired(request, wasDeniedBefore);
  if (!hasNote && !isTyped(request)) return null;
  return (
    <form
      class="required"
      noValidate
      aria-label={t`Required to approve`}
      // Enter in a field decides nothing.
      onSubmit={(event) => event.preventDefault()}
    >
      {isTyped(request) && <Confirmation request={request} decision={decision} />}
      {hasNote && <Note decision={decision} hint={t`Required to approve. The agent reads it.`} />}
    </form>
  );
}

function isNoteRequired({ requirement }: ReviewedRequest, wasDeniedBefore: boolean): boolean {
  return requirement.note === "required" || wasDeniedBefore;
}

interface NoteProps {
  readonly decision: Decision;
  readonly hint: string;
}

function Note({ decision: { draft, edit, faults }, hint }: NoteProps) {
  return (
    <div class="field">
      <label for="note">{t`Note for the agent`}</label>
      <textarea
        id="note"
        rows={2}
        maxLength={10_000}
        value={draft.note}
        onInput={({ currentTarget }) => edit({ note: currentTarget.value })}
        {...faultOf("note", faults)}
      />
      <p class="hint">{hint}</p>
      <Fault param="note" faults={faults} />
    </div>
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
      <label for="confirmation">{confirmationLabel(kind)}</label>
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

function confirmationLabel(kind: string): string {
  return kind === "type"
    ? t`To approve, type exactly`
    : t`To approve, type the last 4 characters of the request id, as shown in the agent's session`;
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
      <summary>{t`Approval expires after`}</summary>
      <div class="field">
        <label for="valid_for">{t`Longest time until the call starts`}</label>
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
            ? t`For example 30s, 5m or 2h. Leave empty for the default.`
            : t`For example 30s or 5m, at most ${longest}. Leave empty for the default.`}
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
