/** Pictures of every screen in every size and theme. The documentation does not use them. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { MemberOptions } from "../../packages/console/test/support/console-scene.ts";
import {
  openScreen,
  type ScreenIds,
  screensOf,
} from "../../packages/console/test/support/screens.ts";
import type { Visitor } from "../../packages/server/test/support/browser.ts";

interface Variant {
  readonly name: string;
  readonly window: Pick<MemberOptions, "width" | "height" | "colorScheme" | "locale">;
  readonly media?: Parameters<Page["emulateMedia"]>[0];
}

const PHONE = { width: 390, height: 844 } as const;
const DESKTOP = { width: 1280, height: 800 } as const;

const VARIANTS: readonly Variant[] = [
  { name: "desktop", window: DESKTOP },
  { name: "wide", window: { width: 1920, height: 1080 } },
  { name: "phone", window: PHONE },
  { name: "dark", window: { ...DESKTOP, colorScheme: "dark" } },
  { name: "contrast", window: DESKTOP, media: { contrast: "more" } },
  { name: "forced", window: DESKTOP, media: { forcedColors: "active" } },
  { name: "german", window: { ...DESKTOP, locale: "de-DE" } },
  { name: "german-phone", window: { ...PHONE, locale: "de-DE" } },
];

/** @param member signs a user in, in a browser of their own */
export async function takeEveryScreen(
  folder: string,
  ids: ScreenIds,
  member: (login: string, options: MemberOptions) => Promise<Visitor>,
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const { name: variant, window, media } of VARIANTS) {
    const { page, context } = await member(`operator-${variant}`, { role: "operator", ...window });
    if (media !== undefined) await page.emulateMedia(media);
    for (const screen of screensOf(ids)) {
      await openScreen(page, screen);
      const file = join(folder, `${screen.name}-${variant}.png`);
      await page.screenshot({ path: file, animations: "disabled" });
      console.log(file);
    }
    await context.close();
  }
}
