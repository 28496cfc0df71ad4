// Needs: browser
/**
 * Settings in a real browser: one's own account, and the people, tokens and channels of a project.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import { BOT_TOKEN, OPS, startFakeSlack } from "../../server/test/support/fake-slack.ts";
import { startMailServer } from "../../server/test/support/mail-server.ts";
import { PASSWORD, picture, press, signIn } from "../../server/test/support/page-scene.ts";
import { callAs } from "../../server/test/support/people.ts";
import { PushBrowser } from "../../server/test/support/push-browser.ts";
import { createSelfSigned } from "../../server/test/support/self-signed.ts";
import { startTlsReceiver } from "../../server/test/support/tls-receiver.ts";
import { until } from "../../server/test/support/until.ts";
import { plugIn } from "../../server/test/support/virtual-authenticator.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { untilFits } from "./support/waits.ts";

/** Of all receivers, because certificates of one name exclude each other. */
const identity = createSelfSigned();

/** The receiver of the channels. */
const receiver = await startTlsReceiver(
  { after },
  ({ path }, response) => {
    response.writeHead(path === "/full" ? 507 : 204).end();
  },
  { identity },
);
const slack = await startFakeSlack({ after }, identity);
const mail = await startMailServer(
  { after },
  {
    onRcptTo({ address }, _, done) {
      const isFull = address.startsWith("full@");
      done(isFull ? Object.assign(new Error("mailbox full"), { responseCode: 552 }) : null);
    },
  },
);
const scene = await startConsoleScene(
  { after },
  {
    ca: [receiver.certificate, mail.certificate],
    settings: {
      webhook_allow_cidrs: "127.0.0.0/8",
      smtp_from: "countersign@example.com",
      slack_api_url: slack.apiUrl,
    },
    environment: { COUNTERSIGN_SMTP_URL: `smtp://localhost:${mail.port}` },
  },
);
const { server } = scene;
const ada = await scene.visitor("ada", { role: "admin" });

test("[ours.console.settings.preferences] half-set quiet hours are rejected at their field, and a save is confirmed", async () => {
  const { page, context, complaints } = await scene.visitor("quinn");
  await page.goto("/settings");
  await page.getByLabel("Theme").selectOption("dark");
  await page.getByLabel("Quiet hours from (optional)").fill("22:00");
  await press(page, "Save");
  const until = page.getByLabel("Until").and(page.locator("[type=time]"));
  await page.locator("[aria-invalid=true]").and(until).waitFor();
  assert.equal(await page.getByLabel("Quiet hours from (optional)").inputValue(), "22:00");
  assert.equal(await page.getByLabel("Theme").inputValue(), "dark");
  await until.fill("07:00");
  await press(page, "Save");
  await page.getByText("Saved.", { exact: true }).waitFor();
  assert.equal(await page.getByLabel("Quiet hours from (optional)").inputValue(), "22:00");
  assert.equal(await page.getByLabel("Theme").inputValue(), "dark");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("[ours.console.settings.preferences] all times are shown in the chosen time zone", async () => {
  const { page, context, complaints } = await scene.visitor("zoe");
  await page.goto("/settings");
  await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
  await press(page, "Save");
  await page.getByText("Saved.", { exact: true }).waitFor();
  await page.reload();
  await page.locator("#sessions-title ~ ul time[title*='GMT+9']").first().waitFor();
  assert.equal(await page.getByLabel("Time zone").inputValue(), "Asia/Tokyo");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("[ours.console.settings.preferences] the console changes to the chosen language, also in a new tab, and back", async () => {
  const { page, context, complaints } = await scene.visitor("gerda");
  const languageOf = (one: Page) => one.evaluate<string>("document.documentElement.lang");
  await page.goto("/settings");
  await page.locator("[name=language]").selectOption({ label: "Deutsch" });
  await press(page, "Save");
  await page.getByRole("heading", { level: 1, name: "Einstellungen" }).waitFor();
  assert.equal(await languageOf(page), "de");
  assert.equal(await page.locator("[name=language]").inputValue(), "de");
  const tab = await context.newPage();
  await tab.goto("/settings");
  await tab.getByRole("heading", { level: 1, name: "Einstellungen" }).waitFor();
  assert.equal(await languageOf(tab), "de");
  await tab.close();
  await page.locator("[name=language]").selectOption({ label: "English" });
  await page.locator("form:has([name=language]) button[type=submit]").click();
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  assert.equal(await languageOf(page), "en");
  assert.deepEqual(complaints, []);
  await context.close();
});

/** The secret that a dialog displays once. */
async function secretOf(page: Page): Promise<string> {
  return (await page.getByRole("dialog").locator(".secret code").textContent()) ?? "";
}

test("[ours.console.settings.account] a person sees where they are signed in, ends a session elsewhere, and changes the password", async () => {
  const { page, complaints } = await scene.visitor("pia");
  await page.goto("/settings");
  await page.getByText("This browser", { exact: true }).waitFor();
  await page.getByLabel("Current password").fill("not the one");
  await page.getByLabel("New password").fill("short");
  await press(page, "Change password");
  await page.getByRole("alert").waitFor();
  assert.equal(await page.getByLabel("New password").inputValue(), "short");
  await page.getByLabel("Current password").fill(PASSWORD);
  await page.getByLabel("New password").fill("eight green otters swim");
  await press(page, "Change password");
  await page.getByText("Password changed").waitFor();
  assert.equal(await page.getByLabel("New password").inputValue(), "");
  await page.getByRole("alert").waitFor({ state: "detached" });
  await picture(page, "settings-account");
  await assertAccessible(page);
  await press(page, "Sign out");
  await page.waitForURL("**/sign-in");
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.account] after a sign-out, the sign-in page does not lead back", async () => {
  const { page } = await scene.visitor("max");
  await page.goto("/settings");
  const answer = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  await page.route("**/review/v1/session", async (route) => {
    if (route.request().method() !== "DELETE") return route.fallback();
    const response = await route.fetch();
    ended.resolve();
    await answer.promise;
    await route.fulfill({ response });
  });
  await press(page, "Sign out");
  await ended.promise;
  // Another request of the page is rejected before the answer to the sign-out arrives.
  const rejected = page.waitForResponse((response) => response.status() === 401);
  await page.getByRole("link", { name: "History" }).click();
  await rejected;
  answer.resolve();
  await page.waitForURL("**/sign-in");
});

test("[ours.console.settings.passkeys] a passkey is made, named and removed", async () => {
  const visitor = await scene.visitor("kai");
  const { page, complaints } = visitor;
  await plugIn(visitor);
  await page.goto("/settings");
  await press(page, "Create a passkey");
  await page.getByText("not used yet").waitFor();
  await page.getByRole("button", { name: /^Rename Passkey/ }).click();
  await page.getByLabel("Name of the passkey").fill("The key on my ring");
  await press(page, "Save name");
  await page.locator("strong").getByText("The key on my ring").waitFor();
  await press(page, "Remove The key on my ring");
  await press(page, "Remove passkey");
  await page.locator("strong").getByText("The key on my ring").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.people] an admin invites a person by a link that is displayed once, and changes permissions", async () => {
  const { page, complaints } = ada;
  await page.goto("/settings/people");
  await page.getByLabel("Name", { exact: true }).fill("Bo");
  await page.getByLabel("Groups (optional)").fill("finance, ops");
  await press(page, "Create invitation link");
  const link = await secretOf(page);
  assert.match(link, /\/invitation#/);
  await picture(page, "settings-invitation");
  await press(page, "Done");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes(link));
  assert.equal(await page.getByLabel("Role").inputValue(), "reviewer");
  await page.getByRole("button", { name: "Revoke" }).waitFor();

  await scene.visitor("cleo");
  await page.reload();
  await page.getByRole("row", { name: /cleo/ }).getByRole("button", { name: "Change" }).click();
  await page.getByRole("dialog").getByLabel("Role").selectOption("auditor");
  await page.getByRole("dialog").getByLabel("Groups").fill("books");
  await press(page, "Save");
  const row = page.getByRole("row", { name: /cleo/ });
  await row.getByText("auditor").waitFor();
  await row.getByText("books").waitFor();
  await picture(page, "settings-people");
  await assertAccessible(page);
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.last-admin] the last user with the power over people cannot be removed", async () => {
  const { page } = ada;
  await page.goto("/settings/people");
  await page.getByRole("row", { name: /ada/ }).getByRole("button", { name: "Change" }).click();
  await press(page, "Remove from the project…");
  const question = page.getByRole("dialog", { name: "Remove ada?" });
  await question.getByRole("button", { name: "Remove from the project" }).click();
  await question.getByRole("alert").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.getByRole("row", { name: /ada/ }).waitFor();
});

test("[ours.console.settings.tokens] a token is displayed once and works, and after its revocation the next call is rejected", async () => {
  const { page, complaints } = ada;
  await page.goto("/settings/tokens");
  await page.getByLabel("Bot name (optional)").fill("night-watch");
  await page.getByLabel("Read requests, history and policies").check();
  await page.getByLabel("Approve and deny only for groups").fill("dba");
  await page.getByLabel("Expires", { exact: true }).selectOption("After another time");
  await page.getByLabel("Expires after").fill("soon");
  await press(page, "Create a token");
  await page.getByLabel("Expires after").and(page.locator(":focus")).waitFor();
  assert.equal(await page.getByLabel("Bot name (optional)").inputValue(), "night-watch");
  await page.getByLabel("Expires", { exact: true }).selectOption("After 7 days");
  await press(page, "Create a token");
  const token = await secretOf(page);
  await press(page, "Done");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(!(await page.content()).includes(token));
  await page.reload();
  await page.getByRole("row", { name: /night-watch.*decide:dba/ }).waitFor();
  assert.ok(!(await page.content()).includes(token));
  const answers = async () => (await server.call("GET", "/review/v1/requests", { token })).status;
  assert.equal(await answers(), 200);
  await picture(page, "settings-tokens");
  await assertAccessible(page);
  await page
    .getByRole("row", { name: /night-watch/ })
    .getByRole("button", { name: "Revoke" })
    .click();
  await press(page, "Revoke token");
  await page.getByRole("row", { name: /night-watch/ }).waitFor({ state: "detached" });
  assert.equal(await answers(), 401);
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.channels] a channel is added, tested with the response displayed, changed, disabled and deleted", async () => {
  const { page, complaints } = ada;
  await page.goto("/settings/channels");
  await page.getByText("No channels yet").waitFor();
  await page.getByLabel("Kind").selectOption("ntfy");
  await page.getByLabel("Name", { exact: true }).fill("phones");
  await page.getByLabel("URL").fill("http://localhost/full");
  await press(page, "Add channel");
  await page.getByText("Must be an https URL").waitFor();
  await page.getByLabel("URL").fill(`https://localhost:${receiver.port}/full`);
  await press(page, "Add channel");
  await press(page, "Send test");
  await page.getByText("Test rejected (507).").waitFor();
  await picture(page, "settings-channels");
  await assertAccessible(page);
  await page.getByRole("button", { name: "Change phones" }).click();
  const dialog = page.getByRole("dialog", { name: "Change the channel phones" });
  await dialog.getByLabel("Groups (optional)").fill("payments");
  await dialog.getByLabel("Replace the address and all its secrets").check();
  await dialog.getByLabel("URL").fill("http://localhost/slack");
  await press(page, "Save");
  await dialog.getByText("Must be an https URL").waitFor();
  await dialog.getByLabel("URL").fill(`https://localhost:${receiver.port}/slack`);
  await assertAccessible(page);
  await picture(page, "settings-channel-change");
  await press(page, "Save");
  await dialog.waitFor({ state: "detached" });
  await page.getByText("for payments").waitFor();
  await press(page, "Send test");
  await page.getByText("Test sent (204).").waitFor();
  await press(page, "Turn off");
  await page.getByText("off", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^Delete/ }).click();
  await press(page, "Delete channel");
  await page.getByText("No channels yet").waitFor();
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.channels] a webhook with a new address shows its new signing secret once; other changes keep the secret", async () => {
  const { page, complaints } = ada;
  await page.goto("/settings/channels");
  await page.getByLabel("Kind").selectOption("webhook");
  await page.getByLabel("Name", { exact: true }).fill("signed");
  await page.getByLabel("URL").fill(`https://localhost:${receiver.port}/one`);
  await press(page, "Add channel");
  const secret = page.locator(".secret code");
  const before = await secret.textContent();
  await press(page, "Done");
  const dialog = page.getByRole("dialog", { name: "Change the channel signed" });
  await page.getByRole("button", { name: "Change signed" }).click();
  await dialog.getByLabel("Reminder before the deadline (optional)").fill("5m");
  await press(page, "Save");
  await dialog.waitFor({ state: "detached" });
  await secret.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Change signed" }).click();
  await dialog.getByLabel("Replace the address and all its secrets").check();
  await dialog.getByLabel("URL").fill(`https://localhost:${receiver.port}/two`);
  await press(page, "Save");
  assert.notEqual(await secret.textContent(), before);
  await press(page, "Done");
  await page.getByRole("button", { name: /^Delete/ }).click();
  await press(page, "Delete channel");
  await page.getByText("No channels yet").waitFor();
  assert.deepEqual(complaints, []);
});

const TESTED = [
  ["slack", "URL", "/slack", "Test sent (204)."],
  ["slack", "URL", "/full", "Test rejected (507)."],
  ["webhook", "URL", "/hook", "Test sent (204)."],
  ["email", "Addresses", "ops@example.com", "Test sent (250)."],
  ["email", "Addresses", "full@example.com", "Test rejected (552)."],
] as const;

test("[ours.console.settings.channels] a test reaches Slack, a webhook and a mail server, and shows their responses", async () => {
  const { page, complaints } = ada;
  for (const [kind, label, to, text] of TESTED) {
    await page.goto("/settings/channels");
    await page.getByLabel("Kind").selectOption(kind);
    await page.getByLabel("Name", { exact: true }).fill("tested");
    const target = kind === "email" ? to : `https://localhost:${receiver.port}${to}`;
    await page.getByLabel(label).fill(target);
    await press(page, "Add channel");
    if (kind === "webhook") await press(page, "Done");
    await press(page, "Send test");
    await page.getByText(text).waitFor();
    await page.getByRole("button", { name: /^Delete/ }).click();
    await press(page, "Delete channel");
    await page.getByText("No channels yet").waitFor();
  }
  assert.deepEqual(
    mail.mails.map((one) => one.to),
    [["ops@example.com"]],
  );
  assert.ok(receiver.requests.some(({ path }) => path === "/slack"));
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.channels] a channel of a Slack app is added with its token, and a test shows the error of Slack with its fix", async () => {
  const { page, complaints } = ada;
  await page.goto("/settings/channels");
  await page.getByLabel("Kind").selectOption("slack_app");
  await page.getByLabel("Name", { exact: true }).fill("slack");
  await page.getByLabel("Bot token").fill(BOT_TOKEN);
  await page.getByLabel("Slack channel ID").fill(OPS);
  await press(page, "Add channel");
  await page.getByText(`Slack channel ${OPS}`).waitFor();
  await press(page, "Send test");
  await page.getByText("Test sent (200).").waitFor();
  assert.equal(slack.messages.length, 1);
  slack.archived.add(OPS);
  await press(page, "Send test");
  await page.getByText("The Slack channel is archived. Unarchive it").waitFor();
  await page.getByRole("button", { name: /^Delete/ }).click();
  await press(page, "Delete channel");
  await page.getByText("No channels yet").waitFor();
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.channels] channels of Telegram, Discord and Mattermost bots are added with decisions", async () => {
  const { page, complaints } = ada;
  const add = async (kind: string, fields: Readonly<Record<string, string>>, shown: RegExp) => {
    await page.getByLabel("Kind").selectOption(kind);
    await page.getByLabel("Name", { exact: true }).fill(kind);
    for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
    await page.getByLabel("Decisions", { exact: true }).selectOption("yes");
    await press(page, "Add channel");
    await page.getByText(shown).waitFor();
    await page.getByText("Linked reviewers decide here.").waitFor();
    await page.getByRole("button", { name: /^Delete/ }).click();
    await press(page, "Delete channel");
    await page.getByText("No channels yet").waitFor();
  };
  await page.goto("/settings/channels");
  const telegram = `1234567890:${"t".repeat(35)}`;
  await add("telegram", { "Bot token": telegram, "Chat ID": "-100123" }, /Telegram chat -100123/);
  const channel = "1234567890123456789";
  const key = { "Public key": "0".repeat(64) };
  const discord = { "Bot token": "d".repeat(60), "Channel ID": channel, ...key };
  await add("discord", discord, new RegExp(`Discord channel ${channel}`));
  const token = { "Bot access token": "m".repeat(26), "Channel ID": "c".repeat(26) };
  const mattermost = { "Mattermost URL": "https://chat.example", ...token };
  await add("mattermost", mattermost, /chat\.example, channel c{26}/);
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.push] a push test shows the answer of the push service", async () => {
  const { page, context } = await scene.visitor("pam");
  const cookies = await context.cookies();
  const { value: cookie = "" } = cookies.find(({ name }) => name === "__Host-countersign") ?? {};
  for (const [path, name] of [
    ["/push", "Phone"],
    ["/full", "Old phone"],
  ] as const) {
    const browser = new PushBrowser(`https://localhost:${receiver.port}${path}`);
    const body = { ...(browser.toJSON() as object), expirationTime: undefined, name };
    const answer = await callAs(server, { cookie }, "POST", "/account/push", { body });
    assert.equal(answer.status, 201, answer.text);
  }
  await page.goto("/settings");
  const row = (name: string) => page.getByRole("listitem").filter({ hasText: name });
  await row("Old phone").getByRole("button", { name: "Send test" }).click();
  await page.getByText(/507/).waitFor();
  await page.getByRole("button", { name: "Send test to Phone", exact: true }).click();
  await until(() => receiver.requests.some((one) => one.path === "/push"), "the push arrives");
  await page.getByRole("button", { name: "Send test to Phone", exact: true }).waitFor();
  await context.close();
});

test("[ours.console.settings.read] a user without the power over people is offered no changes, also on a phone", async () => {
  const { page, complaints } = await scene.visitor("vic", { role: "viewer", width: 320 });
  for (const path of ["/settings", "/settings/people", "/settings/tokens", "/settings/channels"]) {
    await page.goto(path);
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.locator("main h2, main .empty-title").first().waitFor();
    for (const name of ["Create invitation link", "Create a token", "Add channel", "Change vic"]) {
      assert.equal(await page.getByRole("button", { name }).count(), 0);
    }
    await untilFits(page, 320);
    await picture(page, `settings-phone-${path.split("/").at(-1)}`);
  }
  assert.deepEqual(complaints, []);
});

test("[ours.console.settings.session] after the end of the session, the page leads to the sign-in and back", async () => {
  const { page, context } = await scene.visitor("sam");
  await page.goto("/settings/people");
  await page.getByRole("row", { name: /sam/ }).waitFor();
  await context.clearCookies();
  await page.getByRole("link", { name: "Channels" }).click();
  await page.waitForURL("**/sign-in?next=*");
  await signIn(page, "sam");
  await page.waitForURL("**/settings/channels");
});
