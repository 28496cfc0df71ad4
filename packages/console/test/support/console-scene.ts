/**
 * The console in a real browser, served by a real server: for the tests of its screens.
 */

import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import type { BrowserNeeds } from "../../../../tools/test-run/browser.ts";
import { findConsole } from "../../../server/src/review/pages/page-files.ts";
import {
  newVisitor,
  startBrowser,
  type Visitor,
  type VisitorOptions,
} from "../../../server/test/support/browser.ts";
import { visit } from "../../../server/test/support/page-scene.ts";
import { callAs, newPerson, type PersonOrder } from "../../../server/test/support/people.ts";
import { type Scene, startScene } from "../../../server/test/support/scene.ts";
import type { Lifetime } from "../../../server/test/support/test-provider.ts";

export interface ConsoleScene extends Scene {
  readonly browser: Browser;
  /** Signs a new user in, in a separate browser. The page stays on a request after its decision. */
  visitor(...rest: VisitRest): Promise<Visitor>;
  /** The same without the pages for signing in: with a session and no password. */
  member(login: string, options?: MemberOptions): Promise<Visitor>;
}

export type MemberOptions = VisitorOptions & Pick<Partial<PersonOrder>, "role" | "groups">;

type VisitRest = Parameters<typeof visit> extends [unknown, unknown, ...infer Rest] ? Rest : never;

/** One server and one browser, for all tests of a file. */
export async function startConsoleScene(
  t: Lifetime,
  options: Parameters<typeof startScene>[1] = {},
): Promise<ConsoleScene> {
  const scene = await startScene(t, options);
  return withBrowser(t, scene);
}

/** The console over a server that runs already. */
export async function withBrowser<T extends Pick<Scene, "server">>(
  t: Lifetime,
  scene: T,
  needs: BrowserNeeds = {},
): Promise<T & Pick<ConsoleScene, "browser" | "visitor" | "member">> {
  assert.ok(findConsole() !== undefined, "the console is not built: npm run build");
  const browser = await startBrowser(t, needs);
  const { server } = scene;
  return {
    ...scene,
    browser,
    async visitor(...rest) {
      const visitor = await visit(browser, server, ...rest);
      await stayAfterDecision(visitor);
      return visitor;
    },
    member: async (login, { role, groups, ...options } = {}) => {
      const url = server.provider.publicUrl;
      const visitor = await newVisitor(browser, url, options);
      const order = {
        ...(role !== undefined && { role }),
        ...(groups !== undefined && { groups }),
      };
      const person = await newPerson(server, { login, ...order });
      const { cookie } = person;
      const body = { after_decision: "stay" };
      const kept = await callAs(server, person, "PATCH", "/account/preferences", { body });
      assert.equal(kept.status, 200, kept.text);
      const name = "__Host-countersign";
      // A browser takes a cookie of this name from https alone, and sends it to localhost anyway.
      const origin = url.replace(/^http:/, "https:");
      await visitor.context.addCookies([{ name, value: cookie, url: origin, secure: true }]);
      return visitor;
    },
  };
}

/** By default, the next request opens after a decision. */
async function stayAfterDecision({ page }: Visitor): Promise<void> {
  const status = await page.evaluate(`fetch("/review/v1/account/preferences", {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: '{"after_decision":"stay"}',
  }).then(({ status }) => status)`);
  assert.equal(status, 200);
}
