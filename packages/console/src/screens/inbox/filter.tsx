/** The field that narrows the list to matching requests. */

import { t } from "../../language/t.ts";

export interface FilterProps {
  readonly input: { current: HTMLInputElement | null };
  readonly value: string;
  onInput(text: string): void;
}

export function Filter({ input, value, onInput }: FilterProps) {
  return (
    <label class="filter">
      <span class="spoken">{t`Filter by tool, server, instance, rule, reviewer or arguments`}</span>
      <input
        ref={input}
        type="search"
        placeholder={t`Filter`}
        value={value}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape" || key === "Enter") currentTarget.blur();
        }}
      />
      <span class="key" aria-hidden="true">
        /
      </span>
    </label>
  );
}
