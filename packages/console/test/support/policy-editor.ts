/** The text editor of the Policies screen: it is not a field, so a test types into it. */

import type { Locator, Page } from "playwright-core";

export function policyField(page: Page): Locator {
  return page.getByRole("textbox", { name: "Policy" });
}

/** Replaces the text. */
export async function fillPolicy(page: Page, source: string): Promise<void> {
  const field = policyField(page);
  await field.focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(source);
}

/** The lines that the editor shows: all of a short policy. */
export async function policyText(page: Page): Promise<string> {
  // The editor is loaded after the page.
  await policyField(page).waitFor();
  const lines = await policyField(page).locator(".cm-line").allInnerTexts();
  // An empty line contains a line break.
  return lines.map((line) => line.replace(/\n$/, "")).join("\n");
}
