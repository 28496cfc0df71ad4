/**
 * The console in a real browser, served by a real server: for the tests of its screens.
 */

import assert from "node:assert/strict";
import { findConsole } from "@countersign/server/review/console-routes";
import { startBrowser, type Visitor } from "@countersign/server/test/support/browser";
import { visit } from "@countersign/server/test/support/page-scene";
import { type Scene, startScene } from "@countersign/server/test/support/scene";
import type { Lifetime } from "@countersign/server/test/support/test-provider";
import type { Browser } from "playwright-core";

export interface ConsoleScene extends Scene {
  readonly browser: Browser;
  /** Signs somebody new in, in a browser of their own. */
  visitor(...rest: VisitRest): Promise<Visitor>;
}

type VisitRest = Parameters<typeof visit> extends [unknown, unknown, ...infer Rest] ? Rest : never;

/** One server and one browser, for all tests of a file. */
export async function startConsoleScene(t: Lifetime): Promise<ConsoleScene> {
  assert.ok(findConsole() !== undefined, "the console is not built: npm run build");
  const scene = await startScene(t);
  const browser = await startBrowser(t);
  return { ...scene, browser, visitor: (...rest) => visit(browser, scene.server, ...rest) };
}
