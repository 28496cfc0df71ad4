/**
 * The filters of a list. Their values are stored in the address (see query.ts). A choice applies
 * at once; typed text applies on Enter or when the field loses the focus.
 */

import "./filter-bar.css";
import { visibleText } from "@countersign/protocol";
import type { ComponentChildren, TargetedEvent, TargetedKeyboardEvent } from "preact";
import { useId, useState } from "preact/hooks";
import { t } from "../language/t.ts";
import { route } from "../route.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { changeQuery } from "./query.ts";

export interface FilterBarProps {
  /** Name of the filters for screen readers. */
  readonly label: string;
  /** Names in the query that it sets; all are cleared together. */
  readonly names: readonly string[];
  readonly children: ComponentChildren;
}

/** On a phone it is folded until it is asked for; what narrows the list is counted. */
export function FilterBar({ label, names, children }: FilterBarProps) {
  const [isOpen, setOpen] = useState(false);
  const { query } = route.value;
  const count = names.filter((name) => query.has(name)).length;
  return (
    <search class="filter-bar" aria-label={label} data-open={isOpen}>
      <button
        type="button"
        class="filter-fold"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="settings" /> {t`Filters`}
        {count > 0 && ` (${count})`}
      </button>
      {children}
      {count > 0 && (
        <div class="filter-clear">
          <Button
            kind="quiet"
            onPress={() => changeQuery(Object.fromEntries(names.map((name) => [name, ""])))}
          >
            {t`Clear filters`}
          </Button>
        </div>
      )}
    </search>
  );
}

export interface FilterProps {
  readonly label: string;
  /** Its name in the query. */
  readonly name: string;
}

export interface TextFilterProps extends FilterProps {
  readonly placeholder?: string;
}

export function TextFilter({ label, name, placeholder }: TextFilterProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        {...typed(name)}
      />
    </div>
  );
}

/** A day of the reader's calendar, like `2026-11-22`; see `dayStart`. */
export function DayFilter({ label, name }: FilterProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="date" {...typed(name)} />
    </div>
  );
}

/** Counts with Enter, or when the field is left. */
function typed(name: string) {
  const change = (input: HTMLInputElement) => changeQuery({ [name]: input.value.trim() });
  return {
    value: route.value.query.get(name) ?? "",
    onChange: (event: TargetedEvent<HTMLInputElement>) => change(event.currentTarget),
    onKeyDown: (event: TargetedKeyboardEvent<HTMLInputElement>) => {
      if (event.key === "Enter") change(event.currentTarget);
    },
  };
}

export interface Choice {
  readonly value: string;
  readonly text: string;
}

export interface ChoiceGroup {
  readonly label: string;
  readonly choices: readonly Choice[];
}

export interface ChoiceFilterProps extends FilterProps {
  /** The text of no choice. */
  readonly all: string;
  readonly choices: readonly Choice[];
  readonly groups?: readonly ChoiceGroup[];
}

/** One of several; what only the address knows is a choice as well. */
export function ChoiceFilter({ label, name, all, choices, groups = [] }: ChoiceFilterProps) {
  const id = useId();
  const value = route.value.query.get(name) ?? "";
  const known = [...choices, ...groups.flatMap((group) => group.choices)];
  const isKnown = value === "" || known.some((choice) => choice.value === value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={(event) => changeQuery({ [name]: event.currentTarget.value })}
      >
        <option value="">{all}</option>
        {!isKnown && <option value={value}>{visibleText(value)}</option>}
        <Options choices={choices} />
        {groups.map((group) => (
          <optgroup key={group.label} label={visibleText(group.label)}>
            <Options choices={group.choices} />
          </optgroup>
        ))}
      </select>
    </div>
  );
}

function Options({ choices }: { readonly choices: readonly Choice[] }) {
  return (
    <>
      {choices.map(({ value, text }) => (
        <option key={value} value={value}>
          {visibleText(text)}
        </option>
      ))}
    </>
  );
}

export interface SeveralFilterProps extends FilterProps {
  readonly choices: readonly Choice[];
}

/** Any of a few, with commas between them in the address; none is all of them. */
export function SeveralFilter({ label, name, choices }: SeveralFilterProps) {
  const chosen = (route.value.query.get(name) ?? "").split(",");
  const toggle = (value: string) => {
    const isChosen = (choice: Choice) => chosen.includes(choice.value) !== (choice.value === value);
    changeQuery({
      [name]: choices
        .filter(isChosen)
        .map((choice) => choice.value)
        .join(","),
    });
  };
  return (
    <fieldset class="chips">
      <legend>{label}</legend>
      {choices.map(({ value, text }) => (
        <label key={value} class="chip">
          <input type="checkbox" checked={chosen.includes(value)} onChange={() => toggle(value)} />
          <span>{visibleText(text)}</span>
        </label>
      ))}
    </fieldset>
  );
}
