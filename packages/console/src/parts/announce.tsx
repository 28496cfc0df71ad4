/** The result of an action, where its own place on the page is gone: shown and read out. */

import "./announce.css";
import { signal } from "@preact/signals";
import { Text } from "../exact/text.tsx";

const SHOWN_MS = 6_000;

interface Announcement {
  readonly text: string;
}

const latest = signal<Announcement | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

/** @param text a sentence; invisible characters in it are marked */
export function announce(text: string): void {
  clearTimeout(timer);
  latest.value = { text };
  timer = setTimeout(() => {
    latest.value = undefined;
  }, SHOWN_MS);
}

/** The live region is always in the page, so that screen readers notice a change. */
export function Announcements() {
  const shown = latest.value;
  return (
    <div class="announcement" role="status">
      {shown !== undefined && (
        <p>
          <Text>{shown.text}</Text>
        </p>
      )}
    </div>
  );
}
