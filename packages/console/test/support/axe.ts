/**
 * Findings of axe on a page, in light, in dark and with high contrast.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly {
    readonly target: readonly string[];
    readonly failureSummary: string;
  }[];
}

const THEMES = [
  { colorScheme: "light", contrast: "more" },
  { colorScheme: "dark", contrast: "more" },
  { colorScheme: "light", contrast: "no-preference" },
  { colorScheme: "dark", contrast: "no-preference" },
] as const;

/** Fails when there is anything serious or critical, in any theme. */
export async function assertAccessible(page: Page): Promise<void> {
  for (const theme of THEMES) {
    await page.emulateMedia(theme);
    // Evaluated by the browser's own tools, which the policy of the page does not bind.
    await page.evaluate(SOURCE);
    const findings = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        axe: { run(): Promise<{ violations: Finding[] }> };
      };
      return (await axe.run()).violations;
    });
    const bad = findings.filter(({ impact }) => impact === "serious" || impact === "critical");
    const reported = bad.map(({ id, nodes }) => ({
      ...theme,
      id,
      nodes: nodes.map(({ target, failureSummary }) => `${target.join(" ")}: ${failureSummary}`),
    }));
    assert.deepEqual(reported, []);
  }
}

/** Resolves when the page was drawn after a change of its window. */
const DRAWN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))";

/** Fails when the page is wider than its window. */
export async function assertNoSideways(page: Page): Promise<void> {
  await page.evaluate(DRAWN);
  const widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]";
  const [content, window] = await page.evaluate<[number, number]>(widths);
  assert.ok(content <= window, `the page is ${content} px wide of ${window}`);
}

/** Fails when something to be pressed is too small for a finger. */
export async function assertTargets(page: Page): Promise<void> {
  const controls = page.locator("main").locator("button, .button, select, .chip, .list-row");
  const heights = await controls.evaluateAll((all) =>
    all.map((one) => [one.textContent, one.getBoundingClientRect().height] as const),
  );
  // A folded element has no height.
  const small = heights.filter(([, height]) => height > 0 && height < 44);
  assert.deepEqual(small, []);
}
