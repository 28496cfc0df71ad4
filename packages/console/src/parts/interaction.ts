/**
 * Whether the user has pressed anything since the page was loaded. Until then the focus stays where
 * the browser puts it. (`navigator.userActivation` is inherited from the page before.)
 */

let isSeen = false;

export function hasInteracted(): boolean {
  return isSeen;
}

function note(): void {
  isSeen = true;
}

addEventListener("keydown", note, { capture: true, once: true });
addEventListener("pointerdown", note, { capture: true, once: true });
