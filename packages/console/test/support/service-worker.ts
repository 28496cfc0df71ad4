/** The service worker of the console in a browser. */

import type { BrowserContext, Page, Worker } from "playwright-core";
import { until } from "../../../server/test/support/until.ts";
import { answered } from "./waits.ts";

/** @returns the worker, once it has cached the shell and controls the page */
export async function untilInstalled(page: Page, context: BrowserContext): Promise<Worker> {
  await answered(
    page.evaluate("navigator.serviceWorker.ready.then(() => undefined)"),
    "the service worker is there",
  );
  const isOwn = () =>
    answered(
      page.evaluate<boolean>("navigator.serviceWorker.controller !== null"),
      "the owner of the page",
    );
  // A page that began to load before there was a worker.
  if (!(await isOwn())) await page.reload();
  await until(isOwn, "the page is the worker's own");
  const [worker] = context.serviceWorkers();
  return worker ?? context.waitForEvent("serviceworker");
}
