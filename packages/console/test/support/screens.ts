/** The screens of the console, for tests and pictures that open each of them. */

import type { Page } from "playwright-core";

export interface ScreenIds {
  readonly pending: string;
  /** A decided request. */
  readonly resolved: string;
  readonly instance: string;
}

export interface TestedScreen {
  readonly name: string;
  readonly path: string;
  /** Selector of an element that a complete screen has. */
  readonly complete: string;
}

export function screensOf({ pending, resolved, instance }: ScreenIds): TestedScreen[] {
  return [
    { name: "inbox", path: "/inbox", complete: ".row" },
    { name: "all", path: "/all", complete: ".all-row" },
    { name: "request", path: `/inbox/${pending}`, complete: "#timeline" },
    { name: "history", path: "/history", complete: "ol.windowed a" },
    { name: "resolved", path: `/history/${resolved}`, complete: "#timeline" },
    { name: "dashboard", path: "/dashboard", complete: ".chart canvas" },
    { name: "session", path: `/sessions/${resolved}`, complete: ".calls a" },
    { name: "audit", path: "/audit", complete: "ol.windowed button" },
    { name: "audit-server", path: "/audit?log=server", complete: "ol.windowed button" },
    { name: "policies", path: "/policies", complete: ".cm-editor" },
    { name: "policies-floor", path: "/policies/floor", complete: ".cm-editor" },
    { name: "instances", path: "/instances", complete: "main li a" },
    { name: "instance-new", path: "/instances/new", complete: "main input" },
    { name: "instance", path: `/instances/${instance}`, complete: "main dl" },
    { name: "settings", path: "/settings", complete: "#push-title" },
    { name: "people", path: "/settings/people", complete: "main table" },
    { name: "tokens", path: "/settings/tokens", complete: "main form" },
    { name: "channels", path: "/settings/channels", complete: "main form" },
  ];
}

/** Until the screen is complete and receives changes. */
export async function openScreen(
  page: Page,
  { path, complete }: Omit<TestedScreen, "name">,
): Promise<void> {
  await page.goto(path);
  await page.locator(complete).first().waitFor();
  await page.locator(".connection.live").waitFor({ state: "attached" });
}
