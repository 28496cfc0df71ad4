/**
 * Focuses the call after a button that was pressed has disappeared. A user who has gone on to a
 * field stays there: letters are keys elsewhere, and could decide the request.
 */
export function focusOnCall(): void {
  const { activeElement } = document;
  if (activeElement !== document.body && !(activeElement instanceof HTMLButtonElement)) return;
  document.getElementById("tool")?.focus({ preventScroll: true });
}
