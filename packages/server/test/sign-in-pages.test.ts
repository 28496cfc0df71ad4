// Needs: browser
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { makeReturnLink } from "../src/operations/sign-in/makeReturnLink.ts";
import { makeSetupLink } from "../src/operations/sign-in/makeSetupLink.ts";
import { newVisitor, startBrowser, type Visitor, type VisitorOptions } from "./support/browser.ts";
import { newPerson } from "./support/people.ts";
import { startTestProvider, type TestProvider } from "./support/test-provider.ts";

const browser = await startBrowser({ after });

const PASSWORD = "seven grey herons wait";

/** To inspect a run: a folder in SCREENSHOTS gets a picture of each step. */
const { SCREENSHOTS } = process.env;

async function picture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) {
    await page.getByLabel(label, { exact: true }).fill(value);
  }
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
}

/** The first person of a new server, made as people do it. */
async function setUp(
  server: TestProvider,
  options: VisitorOptions = {},
  name = "setup",
): Promise<Visitor> {
  const visitor = await newVisitor(browser, server.url, options);
  const { page } = visitor;
  const token = await makeSetupLink(server.provider.context, "default");
  await page.goto(`/setup#${token}`);
  await page.getByRole("heading", { name: "Set up Countersign" }).waitFor();
  await picture(page, name);
  await fill(page, { "Your name": "Ana Ibarra", Login: "Ana@Example.org", Password: PASSWORD });
  await press(page, "Create account");
  await page.waitForURL("**/inbox");
  await page.goto("/settings");
  await page.getByRole("heading", { name: "Ana Ibarra" }).waitFor();
  return visitor;
}

/** A fact about the signed-in user in the settings. */
async function factOf(page: Page, name: string): Promise<string | null> {
  const fact = page.locator(".facts > div").filter({ has: page.getByText(name, { exact: true }) });
  return fact.locator("dd").textContent();
}

test("[ours.sign-in.setup] [ours.sign-in.pages] the first person sets up, signs out and signs in again, in a real browser", async (t) => {
  const server = await startTestProvider(t);
  const { page, context, complaints } = await setUp(server);
  assert.equal(await factOf(page, "Login"), "ana@example.org");
  assert.equal(await factOf(page, "Role"), "operator");
  await page.getByText("This browser", { exact: true }).first().waitFor();
  await picture(page, "account");
  const [cookie] = await context.cookies();
  assert.deepEqual(
    [cookie?.name, cookie?.httpOnly, cookie?.secure, cookie?.sameSite, cookie?.path],
    ["__Host-countersign", true, true, "Lax", "/"],
  );

  await press(page, "Sign out");
  await page.waitForURL("**/sign-in");
  await picture(page, "sign-in");
  await fill(page, { Login: "ana@example.org", Password: "not the password" });
  await press(page, "Sign in");
  await page.getByRole("alert").getByText("The login or the password is wrong.").waitFor();
  await picture(page, "sign-in-wrong");
  await fill(page, { Password: PASSWORD });
  await page.keyboard.press("Enter");
  await page.waitForURL("**/inbox");
  assert.deepEqual(complaints, []);
});

test("[ours.sign-in.setup] after the first account the setup page and its link no longer exist", async (t) => {
  const server = await startTestProvider(t);
  const token = await makeSetupLink(server.provider.context, "default");
  await newPerson(server, { login: "ana" });
  const { page } = await newVisitor(browser, server.url);
  const response = await page.goto(`/setup#${token}`);
  assert.equal(response?.status(), 404);
  await picture(page, "setup-gone");
  await page.goto(`/invitation#${token}`);
  await page.getByRole("heading", { name: "This link is not valid" }).waitFor();
  await picture(page, "link-gone");
});

test("[ours.sign-in.invitation] [ours.sign-in.pages] an invited user creates an account; a user with an account joins with it", async (t) => {
  const server = await startTestProvider(t);
  const admin = await server.token({ kind: "reviewer", role: "admin", name: "boss" });
  const invite = async (name: string) => {
    const body = { name, role: "reviewer" };
    const call = { token: admin, body };
    const { json } = await server.call<{ url: string }>("POST", "/review/v1/invitations", call);
    return json.url;
  };
  const { page, complaints } = await newVisitor(browser, server.url, { width: 360, height: 740 });
  await page.goto(await invite("li"));
  await page.getByText("Join the project default with the role reviewer.").waitFor();
  await picture(page, "invitation-360");
  await fill(page, { Login: "li", Password: "short" });
  await press(page, "Create account");
  await page.getByText("Must have at least 12 characters.").waitFor();
  await picture(page, "invitation-fault-360");
  await fill(page, { Password: PASSWORD });
  await press(page, "Create account");
  await page.waitForURL("**/inbox");

  const elsewhere = await server.token({ kind: "reviewer", role: "admin", project: "shop" });
  const body = { name: "li", role: "viewer" };
  const call = { token: elsewhere, body };
  const { json } = await server.call<{ url: string }>("POST", "/review/v1/invitations", call);
  await page.goto(json.url);
  await page.getByText("You are signed in as li.").waitFor();
  await picture(page, "join-360");
  await press(page, "Join the project");
  // Only then, an address without a project opens the one that was joined.
  await page.locator("summary", { hasText: "Project: shop" }).waitFor();
  await page.goto("/settings");
  assert.equal(await factOf(page, "Project"), "shop");
  assert.equal(await factOf(page, "Role"), "viewer");
  await picture(page, "account-two-projects-360");
  await page.locator("summary", { hasText: "Project: shop" }).click();
  await page.getByRole("list", { name: "Projects" }).getByText("default", { exact: true }).click();
  await page.locator("summary", { hasText: "Project: default" }).waitFor();
  await page.goto("/settings");
  assert.equal(await factOf(page, "Role"), "reviewer");
  assert.deepEqual(complaints, []);
});

test("[ours.sign-in.return] [ours.sign-in.pages] a locked-out user returns with a link and a new password", async (t) => {
  const server = await startTestProvider(t);
  const { page, complaints } = await setUp(server);
  const token = await makeReturnLink(server.provider.context, "ana@example.org");
  const again = await newVisitor(browser, server.url, { colorScheme: "dark" });
  await again.page.goto(`/invitation#${token}`);
  await again.page.getByRole("heading", { name: "Welcome back" }).waitFor();
  await picture(again.page, "return-dark");
  await fill(again.page, { Password: "another long password" });
  await press(again.page, "Set password and sign in");
  await again.page.waitForURL("**/inbox");
  await page.reload();
  await page.waitForURL("**/sign-in?next=p%2F*%2Fsettings");
  assert.deepEqual([...complaints, ...again.complaints], []);
});

test("[ours.sign-in.account] [ours.sign-in.pages] one's sessions are ended, and the password is changed, on the page of the account", async (t) => {
  const server = await startTestProvider(t);
  const { page, complaints } = await setUp(server, { width: 360, height: 740 }, "setup-360");
  const other = await newVisitor(browser, server.url);
  await other.page.goto("/sign-in");
  await fill(other.page, { Login: "ana@example.org", Password: PASSWORD });
  await press(other.page, "Sign in");
  await other.page.waitForURL("**/inbox");
  await other.page.goto("/settings");
  await other.page.getByText("This browser", { exact: true }).first().waitFor();

  await page.reload();
  const elsewhere = page.getByRole("button", { name: /^Sign out this session.*Chrome on Linux$/ });
  await elsewhere.waitFor();
  await picture(page, "account-two-sessions-360");
  await elsewhere.click();
  await elsewhere.waitFor({ state: "detached" });
  await other.page.reload();
  await other.page.waitForURL("**/sign-in?next=p%2F*%2Fsettings");

  const next = "four slow tides turn";
  await fill(page, { "Current password": "wrong wrong wrong", "New password": next });
  await press(page, "Change password");
  await page.getByText("The current password is wrong.").waitFor();
  await fill(page, { "Current password": PASSWORD, "New password": next });
  await press(page, "Change password");
  await page.getByText("Password changed. You are signed out on all other devices.").waitFor();
  await picture(page, "account-changed-360");
  await fill(other.page, { Login: "ana@example.org", Password: next });
  await press(other.page, "Sign in");
  await other.page.waitForURL("**/settings");
  assert.deepEqual([...complaints, ...other.complaints], []);
});

test("[ours.sign-in.pages] no page is wider than a phone of 320 px, and no control is smaller than 44 px", async (t) => {
  const server = await startTestProvider(t);
  const { page } = await setUp(
    server,
    { width: 320, height: 640, colorScheme: "dark" },
    "setup-320",
  );
  const paths = ["/setup", "/invitation#none", "/sign-in"];
  for (const path of paths) {
    await page.goto(path, { waitUntil: "networkidle" });
    await picture(page, `${path.replace(/\W/g, "")}-320-dark`);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    assert.ok(Number(width) <= 320, `${path} is ${width} px wide`);
    for (const element of await page.locator("button, input, select, a.primary").all()) {
      const box = await element.boundingBox();
      if (box !== null) assert.ok(box.height >= 44, `${path}: ${box.height} px`);
    }
  }
});

test("[ours.sign-in.pages] after signing in the browser opens the page of the link, and never another server", async (t) => {
  const server = await startTestProvider(t);
  await setUp(server);
  const leads: readonly (readonly [string, string])[] = [
    ["settings%3Fsee=1", "/settings?see=1"],
    ["https%3A%2F%2Fevil.example%2F", "/inbox"],
    ["%2F%2Fevil.example", "/inbox"],
    ["javascript%3Aalert(1)", "/inbox"],
    [`blob%3A${encodeURIComponent(server.url)}%2Fa`, "/inbox"],
    ["%5C%5Cevil.example", "/inbox"],
  ];
  for (const [next, path] of leads) {
    const { page, context, complaints } = await newVisitor(browser, server.url);
    await page.goto(`/sign-in?next=${next}`);
    await fill(page, { Login: "ana@example.org", Password: PASSWORD });
    await press(page, "Sign in");
    await page.waitForURL(server.url + path);
    assert.deepEqual(complaints, []);
    await context.close();
  }
});
