/**
 * Fields that are sent together. A server error is shown at the field that it names, and
 * nothing that was typed is lost.
 */

import { visibleText } from "@countersign/protocol";
import { type ComponentChildren, createContext, type Ref } from "preact";
import { useContext, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "../api.ts";
import { messageOf } from "./button.tsx";

interface Fault {
  /** The field that it is about; undefined for the form as a whole. */
  readonly param: string | undefined;
  readonly message: string;
}

const Faulty = createContext<Fault | undefined>(undefined);

/** Values by field name; a missing field has an empty value. */
export type Values = (name: string) => string;

export interface Submission {
  readonly isBusy: boolean;
  readonly fault: Fault | undefined;
  /**
   * Runs one submission at a time and keeps the fault that it ends with.
   *
   * @returns whether it succeeded
   */
  submit(form: HTMLFormElement, work: (values: Values) => Promise<void>): Promise<boolean>;
}

export function useSubmission(): Submission {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault>();
  async function submit(form: HTMLFormElement, work: (values: Values) => Promise<void>) {
    if (isBusy) return false;
    setBusy(true);
    setFault(undefined);
    const data = new FormData(form);
    try {
      await work((name) => String(data.get(name) ?? ""));
      return true;
    } catch (error) {
      const param = fieldNamed(form, error instanceof Refusal ? error.param : undefined);
      const field = param === undefined ? null : form.elements.namedItem(param);
      const message = messageOf(error);
      setFault(
        field === null ? { param: undefined, message } : { param, message: at(param, message) },
      );
      if (field instanceof HTMLElement) field.focus();
      return false;
    } finally {
      setBusy(false);
    }
  }
  return { isBusy, fault, submit };
}

/** The field of a path in the body: of `quiet_hours.to` itself, else of its first part. */
function fieldNamed(form: HTMLFormElement, path: string | undefined): string | undefined {
  if (path === undefined || form.elements.namedItem(path) !== null) return path;
  return path.split(/[.[]/)[0];
}

/** The fields of a form, and below them the fault that is about none of them. */
export function Fields({
  fault,
  children,
}: {
  readonly fault: Fault | undefined;
  readonly children?: ComponentChildren;
}) {
  return (
    <>
      <Faulty.Provider value={fault}>{children}</Faulty.Provider>
      {fault !== undefined && fault.param === undefined && (
        <p class="alert" role="alert">
          {fault.message}
        </p>
      )}
    </>
  );
}

export interface FormProps {
  /** Text of the button. */
  readonly submit: string;
  readonly kind?: "primary" | "plain" | "danger";
  readonly children?: ComponentChildren;
  /** Message after success. */
  readonly done?: string;
  /** After it has resolved, the fields are as they were at first. */
  onSubmit(values: Values): Promise<void>;
}

export function Form({ submit, kind = "primary", children, done = "", onSubmit }: FormProps) {
  const submission = useSubmission();
  const [announcement, setAnnouncement] = useState("");
  async function send(form: HTMLFormElement): Promise<void> {
    setAnnouncement("");
    if (!(await submission.submit(form, onSubmit))) return;
    form.reset();
    setAnnouncement(done);
  }
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send(event.currentTarget);
      }}
    >
      <Fields fault={submission.fault}>{children}</Fields>
      <div class="actions">
        <button type="submit" class={kind} aria-busy={submission.isBusy}>
          {submit}
        </button>
        <span class="hint" role="status">
          {announcement}
        </span>
      </div>
    </form>
  );
}

/** Removes the field's wire name from the server's message, because the label is beside it. */
function at(param: string | undefined, message: string): string {
  const rest = message.startsWith(`${param} `) ? message.slice(`${param} `.length) : message;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

export interface FieldProps {
  /** As the server calls it. */
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly type?: "text" | "password" | "email" | "url" | "time" | "datetime-local";
  readonly value?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly maxLength?: number;
  readonly readOnly?: boolean;
  readonly autocapitalize?: "none";
  readonly inputRef?: Ref<HTMLInputElement>;
}

/** One line of text. */
export function Field({
  name,
  label,
  hint,
  type = "text",
  value,
  autocomplete = "off",
  inputRef,
  ...rest
}: FieldProps) {
  const { id, fault, described } = useField(name, hint);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        ref={inputRef ?? null}
        autocomplete={autocomplete}
        {...rest}
        type={type as "text"}
        defaultValue={value ?? ""}
        spellcheck={false}
        aria-invalid={fault !== ""}
        aria-describedby={described}
      />
      <Below id={id} hint={hint} fault={fault} />
    </div>
  );
}

export interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly value?: string;
  /** Values and their words. */
  readonly options: readonly (readonly [value: string, words: string])[];
  onChange?(value: string): void;
}

/** One of a few. A reset of its form restores `value`. */
export function Choice({ name, label, hint, value, options, onChange }: ChoiceProps) {
  const { id, fault, described } = useField(name, hint);
  const select = useRef<HTMLSelectElement>(null);
  // A reset restores the attribute `selected`; Preact sets only the property.
  const isTouched = useRef(false);
  useLayoutEffect(() => {
    if (select.current === null) return;
    const chosen = select.current.value;
    for (const option of select.current.options) {
      option.defaultSelected = option.value === value;
    }
    if (isTouched.current) select.current.value = chosen;
  });
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        ref={select}
        id={id}
        name={name}
        aria-invalid={fault !== ""}
        aria-describedby={described}
        onChange={(event) => {
          isTouched.current = true;
          onChange?.(event.currentTarget.value);
        }}
      >
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {visibleText(words)}
          </option>
        ))}
      </select>
      <Below id={id} hint={hint} fault={fault} />
    </div>
  );
}

export interface ChecksProps {
  /** As the server calls the list. The value of the form `NAME.OPTION` is `on` or empty. */
  readonly name: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** Value and text of each option. */
  readonly options: readonly (readonly [value: string, words: string])[];
}

/** Any of a few. */
export function Checks({ name, label, hint, options }: ChecksProps) {
  const { id, fault, described } = useField(name, hint);
  return (
    <fieldset class="checks" name={name} tabIndex={-1} aria-describedby={described}>
      <legend>{label}</legend>
      {options.map(([value, words]) => (
        <label key={value} class="check">
          <input type="checkbox" name={`${name}.${value}`} />
          {words}
        </label>
      ))}
      <Below id={id} hint={hint} fault={fault} />
    </fieldset>
  );
}

function useField(name: string, hint: ComponentChildren) {
  const id = useId();
  const fieldFault = useContext(Faulty);
  const fault = fieldFault?.param === name ? fieldFault.message : "";
  const described = fault === "" && hint === undefined ? undefined : `${id}-below`;
  return { id, fault, described };
}

interface BelowProps {
  readonly id: string;
  readonly hint: ComponentChildren;
  readonly fault: string;
}

function Below({ id, hint, fault }: BelowProps) {
  return (
    <div id={`${id}-below`}>
      {fault !== "" && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

/** Words between commas or spaces. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}
