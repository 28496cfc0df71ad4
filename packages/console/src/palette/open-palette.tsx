/** Ctrl+K or a button opens the command palette; its script is loaded when it is first opened. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { rich } from "../language/t.ts";
import type { PaletteProps } from "./palette.tsx";

/** The palette while it is open. */
const opened = signal<ComponentType<PaletteProps> | undefined>(undefined);

async function openPalette(): Promise<void> {
  if (document.querySelector("dialog[open]") !== null) return;
  const { Palette } = await import("./palette.tsx");
  opened.value = Palette;
}

function closePalette(): void {
  opened.value = undefined;
}

function press(event: KeyboardEvent): void {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
  if (event.altKey || event.shiftKey) return;
  event.preventDefault();
  void openPalette();
}

export function OpenPalette() {
  const Palette = opened.value;
  useEffect(() => {
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button type="button" class="quiet palette-button" onClick={() => void openPalette()}>
        {rich`Go to ${<kbd>Ctrl K</kbd>}`}
      </button>
      {Palette !== undefined && <Palette onClose={closePalette} />}
    </>
  );
}
