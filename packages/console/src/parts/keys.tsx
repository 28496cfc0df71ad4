/**
 * Single keys. They act where nothing is typed and no dialog is open, can be switched off, and are
 * listed in a dialog of their own.
 */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../language/t.ts";
import { changePreferences, keysOn } from "../preferences.ts";
import { Dialog } from "./dialog.tsx";

export interface KeyBinding {
  /** As `KeyboardEvent.key` says it. */
  readonly key: string;
  /** Its effect, for the list of shortcuts. */
  readonly does: string;
  /** Also while it is held down. */
  readonly repeats?: boolean;
  /** @param event its timestamp is the time of the key press */
  press(event: KeyboardEvent): void;
}

type Bindings = { readonly current: readonly KeyBinding[] };

const bound = signal<readonly Bindings[]>([]);
const isHelpOpen = signal(false);

/** The keys of a screen while it is open. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  useEffect(() => {
    bound.value = [...bound.value, latest];
    return () => {
      bound.value = bound.value.filter((one) => one !== latest);
    };
  }, []);
}

export function openKeysHelp(): void {
  isHelpOpen.value = true;
}

const HELP: KeyBinding = { key: "?", does: t`List the shortcuts`, press: openKeysHelp };

/** Where two parts of a page bind one key, the first acts. */
function all(): KeyBinding[] {
  const bindings = [...bound.value.flatMap(({ current }) => current), HELP];
  return bindings.filter(({ key }, index) => bindings.findIndex((b) => b.key === key) === index);
}

const TYPED_IN = "input, textarea, select, [contenteditable]";

/** A checkbox takes the space bar and no letters. */
function isTyping(target: EventTarget | undefined): boolean {
  if (!(target instanceof Element)) return false;
  if (target instanceof HTMLInputElement && target.type === "checkbox") return false;
  return target.matches(TYPED_IN);
}

/** Enter already has a meaning for this element. */
function isPressed(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("a, button, summary, input");
}

export function listenForKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.composedPath()[0]) || document.querySelector("dialog[open]") !== null)
      return;
    const binding = all().find(({ key }) => key === event.key);
    if (binding === undefined || (event.repeat && !binding.repeats)) return;
    // Their list can be opened always: it is where they are switched on again.
    if (!keysOn.value && binding !== HELP) return;
    if (event.key === "Enter" && isPressed(event.target)) return;
    event.preventDefault();
    binding.press(event);
  });
}

const NAMES: Readonly<Record<string, string>> = { Escape: "Esc" };

export function KeysHelp() {
  if (!isHelpOpen.value) return null;
  const close = () => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title={t`Keys`} onClose={close}>
      <dl class="keys">
        {all().map(({ key, does }) => (
          <div key={key}>
            <dt>
              <kbd>{NAMES[key] ?? key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={keysOn.value}
          onChange={({ currentTarget }) => void choose(currentTarget)}
        />
        {t`Keyboard shortcuts`}
      </label>
    </Dialog>
  );
}

/** The box shows what is kept, also where that could not be changed. */
async function choose(box: HTMLInputElement): Promise<void> {
  try {
    await changePreferences({ keys: box.checked });
  } finally {
    box.checked = keysOn.value;
  }
}
