/**
 * A user without a mouse: presses Tab and single keys, which are counted.
 */

import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";

/** More presses than any screen of the tests needs. */
const TABS_MAX = 120;

export interface TabOptions {
  /** Shift+Tab: towards the start of the page. */
  readonly isBackwards?: boolean;
}

export class Keyboard {
  readonly #page: Page;
  #count = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Keys pressed so far. A combination counts as one, and each character of a text too. */
  get count(): number {
    return this.#count;
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.#count++;
      await this.#page.keyboard.press(key);
    }
  }

  async type(text: string): Promise<void> {
    this.#count += text.length;
    await this.#page.keyboard.type(text);
  }

  /** Presses Tab until the element has the focus. */
  async tabTo(target: Locator, { isBackwards = false }: TabOptions = {}): Promise<void> {
    await target.waitFor();
    const key = isBackwards ? "Shift+Tab" : "Tab";
    const passed: string[] = [];
    for (let presses = 0; presses < TABS_MAX; presses++) {
      if (await hasFocus(this.#page, target)) return;
      passed.push(await describeFocus(this.#page));
      await this.press(key);
    }
    assert.fail(`${TABS_MAX} × ${key} do not reach ${target}: ${passed.join(", ")}`);
  }

  /** Presses a single key of a request when such keys act. */
  async pressReady(key: string): Promise<void> {
    await this.#page.locator("#decide[data-keys=ready]").waitFor();
    await this.press(key);
  }
}

export async function hasFocus(page: Page, target: Locator): Promise<boolean> {
  return (await target.and(page.locator(":focus")).count()) > 0;
}

/** `button#approve "Approve"` */
export function describeFocus(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { tagName, id, innerText = "" } = document.activeElement;
    const name = id === "" ? tagName.toLowerCase() : tagName.toLowerCase() + "#" + id;
    return name + " " + JSON.stringify(innerText.trim().slice(0, 30));
  })()`);
}

/** The next key of a keyboard user acts here, and not at the start of the page. */
export async function untilFocusOn(page: Page, target: Locator): Promise<void> {
  await target
    .and(page.locator(":focus"))
    .waitFor({ state: "attached" })
    .catch(async () => assert.fail(`focus on ${await describeFocus(page)}, not on ${target}`));
}
