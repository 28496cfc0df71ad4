// Needs: browser
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { PROVIDER_LOGOUT_PATH } from "../src/http/provider-logout-routes.ts";
import { newVisitor, startBrowser } from "./support/browser.ts";
import { type OidcScene, startOidcScene } from "./support/oidc-scene.ts";
import { startTestProvider } from "./support/test-provider.ts";
import { turns, until } from "./support/until.ts";

const browser = await startBrowser({ after });

/** To inspect a run: a folder in SCREENSHOTS gets a picture of each step. */
const { SCREENSHOTS } = process.env;

async function picture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

/** A browser on the page for signing in, and its console errors since it opened the page. */
async function visit({ server, idp }: OidcScene, path: string) {
  const { page, context, complaints } = await newVisitor(browser, server.provider.publicUrl);
  await page.goto(path);
  const others = () => complaints.filter((one) => !one.startsWith(`asked for ${idp.issuer}/`));
  return { page, context, others };
}

test("[ours.oidc.pages] [ours.oidc.flow] a user signs in with the button in a real browser", async (t) => {
  const scene = await startOidcScene(t);
  const { page, context, others } = await visit(scene, "/sign-in?next=/settings%3Fa=b");
  const button = page.getByRole("button", { name: "Sign in with SSO", exact: true });
  await button.waitFor();
  await picture(page, "oidc-sign-in");
  await button.click();
  await page.waitForURL("**/settings?a=b");
  await page.getByRole("heading", { name: "Ana Lima" }).waitFor();
  await page.locator(".facts").getByText("reviewer", { exact: true }).waitFor();
  const cookies = (await context.cookies()).filter(({ name }) => name.startsWith("__Host-"));
  assert.deepEqual(
    cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]),
    [["__Host-countersign", true, true, "Lax"]],
  );
  assert.deepEqual(others(), []);
});

test("[ours.oidc.back-channel-logout] the open inbox goes to the sign-in page when the provider ends the session", async (t) => {
  const scene = await startOidcScene(t);
  const { server, idp, clock } = scene;
  const { page } = await visit(scene, "/sign-in?next=/inbox");
  await page.getByRole("button", { name: "Sign in with SSO", exact: true }).click();
  await page.waitForURL("**/inbox");
  await page.getByRole("heading", { name: "Inbox" }).first().waitFor();
  const body = new URLSearchParams({ logout_token: idp.logoutToken({ sub: "ana-1" }) });
  const sent = await fetch(server.url + PROVIDER_LOGOUT_PATH, { method: "POST", body });
  assert.equal(sent.status, 200);
  await until(async () => {
    clock.advance(1_000);
    await turns();
    return new URL(page.url()).pathname === "/sign-in";
  }, "the page opens the sign-in page");
});

test("[ours.oidc.pages] [ours.oidc.refused] a rejected user sees the reason and a link back", async (t) => {
  const scene = await startOidcScene(t);
  scene.idp.error = "access_denied";
  const { page, context, others } = await visit(scene, "/sign-in");
  await page.getByRole("button", { name: "Sign in with SSO" }).click();
  await page
    .getByRole("alert")
    .getByText("The identity provider returned the error access_denied.")
    .waitFor();
  await picture(page, "oidc-refused");
  await page.getByRole("link", { name: "Sign in again" }).click();
  await page.waitForURL("**/sign-in");
  const names = (await context.cookies()).map(({ name }) => name);
  assert.ok(!names.includes("__Host-countersign"));
  assert.deepEqual(others(), []);
});

test("[ours.sign-in.invitation.secret] no URL contains the secret of a link when a user signs in and joins by the link", async (t) => {
  const scene = await startOidcScene(t);
  const { server } = scene;
  const boss = await server.token({ kind: "reviewer", role: "admin", project: "shop" });
  const call = { token: boss, body: { name: "ana", role: "viewer" } };
  const made = await server.call<{ url: string }>("POST", "/review/v1/invitations", call);
  const secret = made.json.url.split("#")[1] ?? "";
  assert.match(secret, /^[\w-]{43}$/);
  const { page, others } = await visit(scene, "/sign-in");
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url().split("#")[0] ?? ""));
  await page.goto(made.json.url);
  await page.getByRole("link", { name: "Sign in instead" }).click();
  await page.getByRole("button", { name: "Sign in with SSO" }).click();
  await page.getByText("You are signed in as Ana Lima.").waitFor();
  await page.getByRole("button", { name: "Join the project" }).click();
  await page.waitForURL("**/inbox");
  assert.ok(requested.length > 5);
  assert.deepEqual(
    requested.filter((url) => url.includes(secret)),
    [],
  );
  assert.deepEqual(others(), []);
});

test("[ours.oidc.pages] with oidc_only the password form appears only after a click", async (t) => {
  const scene = await startOidcScene(t, { oidc_only: "true", oidc_break_glass: "glass" });
  const { page, others } = await visit(scene, "/sign-in");
  await page.getByRole("button", { name: "Sign in with SSO" }).waitFor();
  await picture(page, "oidc-only");
  assert.equal(await page.getByLabel("Password").isVisible(), false);
  await page.getByRole("button", { name: "Sign in without SSO" }).click();
  await page.getByLabel("Login").fill("li");
  await page.getByLabel("Password").fill("a password of hers");
  await page.keyboard.press("Enter");
  const alert = page.getByRole("alert");
  await alert
    .getByText("Passwords and passkeys are disabled. Sign in at the identity provider.")
    .waitFor();
  assert.deepEqual(others(), []);
});

test("[ours.oidc.pages] without a provider the page has no provider button", async (t) => {
  const server = await startTestProvider(t);
  const { page, complaints } = await newVisitor(browser, server.url);
  const ways = page.waitForResponse("**/review/v1/session/ways");
  await page.goto("/sign-in");
  assert.deepEqual(await (await ways).json(), { oidc: false, only: false });
  assert.equal(await page.getByRole("button", { name: /SSO/ }).count(), 0);
  assert.equal(await page.getByLabel("Password").isVisible(), true);
  assert.deepEqual(complaints, []);
});
