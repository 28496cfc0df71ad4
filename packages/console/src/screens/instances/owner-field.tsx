import { visibleText } from "@countersign/protocol";
import { api } from "../../api.ts";
import { t } from "../../language/t.ts";
import { useLoaded } from "../../parts/use-loaded.ts";

export interface OwnerFieldProps {
  readonly label: string;
  readonly hint?: string;
  /** Name of a reviewer; empty for no owner. */
  readonly value: string;
  onChange(value: string): void;
}

/** Which reviewer answers for an instance; one who was chosen before stays a choice. */
export function OwnerField({ label, hint, value, onChange }: OwnerFieldProps) {
  const reviewers = useLoaded((signal) => api.call("GET /reviewers", { signal }), "").value
    ?.reviewers;
  const names = new Set([...(reviewers ?? []).map(({ name }) => name), value]);
  names.delete("");
  return (
    <label class="field">
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">{t`None`}</option>
        {[...names].map((name) => (
          <option key={name} value={name}>
            {visibleText(name)}
          </option>
        ))}
      </select>
      {hint !== undefined && <span class="hint">{hint}</span>}
    </label>
  );
}
