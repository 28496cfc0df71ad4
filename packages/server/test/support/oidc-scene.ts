/**
 * A server whose people sign in at a provider in the same process, and browsers to do so.
 */

import assert from "node:assert/strict";
import type { Report } from "../../src/index.ts";
import { FetchBrowser, type Page } from "./fetch-browser.ts";
import { ManualClock } from "./manual-clock.ts";
import {
  type OpenidOptions,
  startOpenidProvider,
  type TestOpenidProvider,
} from "./openid-provider.ts";
import {
  type Answer,
  type Lifetime,
  startTestProvider,
  type TestProvider,
} from "./test-provider.ts";

export const START = "/review/v1/session/oidc";

export interface OidcScene {
  readonly idp: TestOpenidProvider;
  readonly server: TestProvider;
  readonly clock: ManualClock;
  /** Goes to the provider and comes back, in a new browser unless one is given. */
  signIn(browser?: FetchBrowser, returnTo?: string): Promise<Page>;
  /** As signIn, until the moment before the browser comes back. */
  comeBack(browser: FetchBrowser): Promise<URL>;
}

export interface ShownSession {
  readonly person: { readonly id: string; readonly login: string; readonly name: string };
  readonly project: ShownProject | null;
  readonly projects: readonly ShownProject[];
}

interface ShownProject {
  readonly name: string;
  readonly role: string;
  readonly groups: readonly string[];
  readonly reviewer: { readonly id: string; readonly name: string };
}

export const ROLES = { oidc_roles: "platform=admin,approvers=reviewer,payers=payments:reviewer" };

/** @param before a provider and a folder to go on with */
export async function startOidcScene(
  t: Lifetime,
  settings: Readonly<Record<string, string>> = {},
  options: OpenidOptions = {},
  before: {
    readonly idp?: TestOpenidProvider;
    readonly data?: string;
    readonly report?: Report;
  } = {},
): Promise<OidcScene> {
  const idp = before.idp ?? (await startOpenidProvider(t, options));
  if (idp !== before.idp) idp.account = { ...idp.account, groups: ["approvers"] };
  const clock = new ManualClock();
  const none = { unauthenticated_rate: "0", reviewer_rate: "0" };
  const server = await startTestProvider(t, {
    clock,
    ...(before.data === undefined ? {} : { data: before.data }),
    ...(before.report === undefined ? {} : { report: before.report }),
    settings: { ...none, ...idp.settings, ...ROLES, ...settings },
  });
  idp.register(server.provider.publicUrl);
  const start = server.provider.publicUrl + START;
  return {
    idp,
    server,
    clock,
    signIn: (browser = new FetchBrowser(), returnTo = "/healthz") =>
      browser.visit(`${start}?return_to=${encodeURIComponent(returnTo)}`),
    async comeBack(browser) {
      const { url, status } = await browser.visit(`${start}?return_to=/healthz`, /\/callback\?/);
      assert.equal(status, 0, url);
      return new URL(url);
    },
  };
}

export const SESSION_COOKIE = "__Host-countersign";

/** The user who is signed in in a browser, as pages read it. */
export function session(
  { server }: Pick<OidcScene, "server">,
  browser: FetchBrowser,
): Promise<Answer<ShownSession>> {
  const value = browser.cookies.get(SESSION_COOKIE);
  const cookie = value === undefined ? "" : `${SESSION_COOKIE}=${value}`;
  const headers = { cookie, "sec-fetch-site": "same-origin" };
  return server.call("GET", "/review/v1/session", { headers });
}

/** Signs a user in who must get in. */
export async function signedIn(
  scene: OidcScene,
  browser = new FetchBrowser(),
): Promise<ShownSession> {
  const page = await scene.signIn(browser);
  assert.equal(page.status, 200, page.text);
  const answer = await session(scene, browser);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** The audit kinds that were written, with what they say, the oldest first. */
export async function auditOf(
  { server }: OidcScene,
  ...kinds: readonly string[]
): Promise<string[]> {
  const rows = await server.provider.context.store.all(
    "select kind, actor, subject, detail from audit_entry order by id",
  );
  return rows
    .filter(({ kind }) => kinds.includes(String(kind)))
    .map(({ kind, actor, detail }) => `${kind} ${actor} ${detail}`);
}
