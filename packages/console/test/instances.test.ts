// Needs: browser
/**
 * Instances in a real browser: the list, one of them with what waits, holds and freezes, a new one
 * with its credential, and deleting.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, test } from "node:test";
import { promisify } from "node:util";
import {
  answering,
  decideAndAttempt,
  rowOf,
  startDeliveryScene,
} from "../../server/test/support/deliveries.ts";
import { makeGrant } from "../../server/test/support/grants.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { storedStatus } from "../../server/test/support/scene.ts";
import { untilDelivered } from "../../server/test/support/webhook-scene.ts";
import { assertAccessible, assertNoSideways, assertTargets } from "./support/axe.ts";
import { withBrowser } from "./support/console-scene.ts";
import { untilCount } from "./support/waits.ts";

const HOSTILE = `<b>x</b>\u202Egnp\u200B${"w".repeat(90)}`;

const deliveries = await startDeliveryScene({ after });
const scene = await withBrowser({ after }, deliveries);
const { server, instance, reviewer, provisioner } = scene;
const { page, context, complaints } = await scene.member("ana", { role: "admin" });

const list = page.getByRole("list", { name: "Instances" });
const dialog = page.getByRole("dialog");
const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
const read = (id: string) =>
  server.call<{ name: string }>("GET", `/review/v1/instances/${id}`, { token: reviewer });

test("the list shows owner, groups, receiver, pending requests and last call", async () => {
  const calm = await server.provision(provisioner, "calm-agent");
  const admin = await server.token({ kind: "reviewer", name: "li", role: "admin" });
  const path = `/review/v1/instances/${calm.instance.id}`;
  const body = { owner: "li", groups: ["support-bots"] };
  assert.equal((await server.call("PATCH", path, { token: admin, body })).status, 200);
  await server.submit(calm.credential.token);
  await server.provision(provisioner, HOSTILE);
  await decideAndAttempt(deliveries);
  await page.goto("/instances");
  const { name } = (await read(instance.id)).json;
  await list.getByRole("link").filter({ hasText: name }).getByText("Failing, 1 waiting").waitFor();
  const row = list.getByRole("link").filter({ hasText: "calm-agent" });
  const text = (await row.textContent()) ?? "";
  assert.match(text, /li · support-bots.*No receiver.*1 pending.*(just now|ago)/);
  const hostile = list.getByRole("link").filter({ hasText: "<b>x</b>\\u{202E}gnp\\u{200B}" });
  assert.match(
    (await hostile.textContent()) ?? "",
    /no owner, no groups.*0 pending.*no requests yet/,
  );
  await picture(page, "instances-desktop-light");
  await assertAccessible(page);
  await picture(page, "instances-desktop-dark");
});

test("a failing delivery shows attempts, last status and next try, no path", async () => {
  await page.goto(`/instances/${instance.id}`);
  const table = page.getByRole("table", { name: "Pending deliveries" });
  await table.getByRole("cell", { name: /answered 500/ }).waitFor();
  const text = (await page.locator("main").textContent()) ?? "";
  assert.match(text, /AttemptsLast attemptNext attempt/);
  assert.match(text, /https:\/\/localhost:\d+/);
  assert.doesNotMatch(text, /\/hook|team=a|whsec/);
  await picture(page, "instance-failing-light");
  await assertAccessible(page);
});

test("a retry makes the delivery due, and it arrives", async () => {
  await page.goto(`/instances/${instance.id}`);
  const waiting = page.getByRole("button", { name: "Retry now" });
  await waiting.waitFor();
  const [row] = await server.provider.context.store.all("select id from notification");
  const hasEnded = async () => (await rowOf(server, String(row?.id))).ended_at !== null;
  deliveries.answer = answering(204);
  await waiting.click();
  await untilDelivered(deliveries, hasEnded, "the delivery after a retry");
  await page.reload();
  await page.getByText("No pending deliveries.").waitFor();
  await page.getByText("Healthy", { exact: true }).waitFor();
});

test("a freeze is active until it is lifted, and denies pending requests", async () => {
  const { id } = await server.submit(instance.token);
  await page.goto(`/instances/${instance.id}`);
  await press("Freeze");
  await dialog.getByLabel("Reason (agents read it)").fill("Leaked key.");
  await dialog.getByRole("button", { name: "Freeze", exact: true }).click();
  await dialog.getByText("1 pending request was denied.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("This instance is frozen.").waitFor();
  await page.getByText("Leaked key.").first().waitFor();
  assert.equal(await storedStatus(scene, id), "denied");
  await picture(page, "instance-frozen");
  await assertAccessible(page);
  await page.goto("/instances");
  await list.getByText("Frozen", { exact: true }).waitFor();
  await page.goBack();
  await press("Lift the freeze");
  await dialog.getByRole("button", { name: "Lift the freeze" }).click();
  await page.getByText("This instance is frozen.").waitFor({ state: "detached" });
  const later = await server.submit(instance.token);
  assert.equal(later.status, "pending");
});

test("the project is frozen and lifted from the list; the server by operators alone", async () => {
  await page.goto("/instances");
  await press("Freeze the project");
  await dialog.getByRole("button", { name: "Freeze", exact: true }).click();
  await page.getByRole("dialog", { name: "Frozen" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("This project is frozen.").waitFor();
  await untilCount(page.getByRole("button", { name: "Freeze the server" }), 0);
  await press("Lift the freeze");
  await dialog.getByRole("button", { name: "Lift the freeze" }).click();
  await page.getByText("This project is frozen.").waitFor({ state: "detached" });
  const operator = await scene.member("operator", { role: "operator" });
  await operator.page.goto("/instances");
  await operator.page.getByRole("button", { name: "Freeze the server" }).waitFor();
  await operator.context.close();
});

test("active grants are listed with their terms and revoked", async () => {
  const body = {
    instance_id: instance.id,
    tool: "edit",
    server: "files",
    when: 'args.path == "<i>a</i>"',
    calls: 5,
  };
  await makeGrant(server, reviewer, body);
  const turn = { session: "<i>s</i>", turn: "<i>t</i>", any_server: true };
  await makeGrant(server, reviewer, { instance_id: instance.id, tool: "*", ...turn });
  await page.goto(`/instances/${instance.id}`);
  const table = page.getByRole("table", { name: "Active grants" });
  const rest = table.getByRole("row").filter({ hasText: "in session <i>s</i>" });
  await rest.getByText("in turn <i>t</i>").waitFor();
  await rest.getByText("on any server").waitFor();
  await table.getByText('args.path == "<i>a</i>"').waitFor();
  await table.getByText("on files").waitFor();
  await table.getByText("0 of 5").waitFor();
  await picture(page, "instance-grants");
  await rest.getByRole("button", { name: "Revoke" }).click();
  await press("Revoke grant");
  await rest.waitFor({ state: "detached" });
  await table.getByRole("button", { name: "Revoke" }).click();
  await press("Revoke grant");
  await page.getByText("No active grants").waitFor();
});

test("a user who may publish changes groups and owner", async () => {
  await page.goto(`/instances/${instance.id}`);
  await press("Change groups and owner");
  await dialog.getByLabel(/^Groups/).fill("eu, Wrong Name");
  await press("Save");
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel(/^Groups/).fill("eu, refunds");
  await dialog.getByLabel("Owner").selectOption("ana");
  await press("Save");
  await dialog.waitFor({ state: "detached" });
  await page.getByText("eu, refunds").waitFor();
});

test("a credential is displayed once, with commands that work, and never again", async () => {
  await page.goto("/instances");
  await page.getByRole("link", { name: "New instance" }).click();
  await picture(page, "instance-new");
  await page.getByLabel("Name (optional)").fill("refund-bot");
  await page.getByLabel("Groups (optional)").fill("support-bots, eu");
  await press("Create instance");
  await page.getByRole("heading", { level: 1, name: "Instance created" }).waitFor();
  const credential = (await page.locator("pre").first().textContent()) ?? "";
  assert.match(credential, /^cs_inst_\w{49}$/);
  const install = `npx countersign install claude-code --url ${server.provider.publicUrl}`;
  await page.locator("pre").getByText(install, { exact: true }).waitFor();
  // Commands that prompt for the credential keep it out of the history of the shell.
  const agents = page.getByLabel("Agent");
  for (const option of await agents.locator("option").all()) {
    await agents.selectOption({ label: (await option.textContent()) ?? "" });
    const shown = await page.locator("pre").allTextContents();
    assert.equal(shown.filter((text) => text.includes(credential)).length, 1);
  }
  const curl = page.locator("pre").getByText("curl -sS");
  const run = promisify(execFile)("bash", ["-c", (await curl.textContent()) ?? ""]);
  run.child.stdin?.end(`${credential}\n`);
  assert.match((await run).stdout, /"status":"pending"/);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy Credential" }).click();
  await page.getByText("Copied").first().waitFor();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), credential);
  await picture(page, "instance-created-light");
  await assertAccessible(page);
  assert.equal((await server.submit(credential)).status, "pending");

  const isShown = async () => (await page.content()).includes(credential);
  assert.equal(await isShown(), true);
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("heading", { level: 1, name: "refund-bot" }).waitFor();
  assert.equal(await isShown(), false);
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "New instance" }).waitFor();
  assert.equal(await isShown(), false);
  await page.goForward();
  await page.goBack();
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "New instance" }).waitFor();
  assert.equal(await isShown(), false);
  const kept = "JSON.stringify([history.state, { ...localStorage }, { ...sessionStorage }])";
  assert.doesNotMatch(await page.evaluate<string>(kept), /cs_inst_/);
});

test("[ours.instances.rotate] the credential is rotated: the new one is displayed once, the earlier one expires", async () => {
  const made = await server.provision(provisioner, "rotated");
  await page.goto(`/instances/${made.instance.id}`);
  await press("Rotate credential");
  await dialog.getByLabel("Validity of the earlier credential").selectOption("1 hour");
  await picture(page, "instance-rotate");
  await dialog.getByRole("button", { name: "Rotate credential" }).click();
  await dialog.getByText("The earlier credential is valid until").waitFor();
  const rotated = (await dialog.locator("code").textContent()) ?? "";
  await assertAccessible(page);
  assert.equal((await server.submit(rotated)).status, "pending");
  assert.equal((await server.submit(made.credential.token)).status, "pending");
  await dialog.getByText("Done").click();
  assert.equal((await page.content()).includes(rotated), false);
});

test("[ours.instances.administer] an instance is renamed, found by its name, and ordered", async () => {
  const made = await server.provision(provisioner, "before");
  await page.goto(`/instances/${made.instance.id}`);
  await press("Rename");
  await dialog.getByLabel("Name").fill("");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("Name").fill("aa-after");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "aa-after" }).waitFor();
  await page.goto("/instances");
  await page.getByRole("textbox", { name: "Search" }).fill("AA-after");
  await page.keyboard.press("Enter");
  await list.getByRole("link").filter({ hasText: "aa-after" }).waitFor();
  await untilCount(list.getByRole("link"), 1);
  await page.getByRole("textbox", { name: "Search" }).fill("no such name");
  await page.keyboard.press("Enter");
  await page.getByText("No instance matches the search").waitFor();
  await page.goto("/instances?order=name");
  await list.getByRole("link").first().filter({ hasText: "<b>x</b>" }).waitFor();
  await page.goto("/instances?order=pending");
  await list
    .getByRole("link")
    .first()
    .filter({ hasText: /[1-9] pending/ })
    .waitFor();
  await assertAccessible(page);
  await picture(page, "instances-ordered");
});

test("[ours.instances.administer] a receiver is added with a displayed secret, tested and removed", async () => {
  const made = await server.provision(provisioner, "gets-receiver");
  await page.goto(`/instances/${made.instance.id}`);
  await press("Add a receiver");
  await dialog.getByLabel("URL of the receiver").fill("http://localhost/hook");
  await dialog.getByText("Verify and use").click();
  await dialog.getByRole("alert").waitFor();
  await dialog.getByText(/^whsec_/).waitFor();
  await assertAccessible(page);
  await picture(page, "instance-receiver");
  await dialog.getByLabel("URL of the receiver").fill(deliveries.receiver.url("/hook?team=b"));
  await dialog.getByText("Verify and use").click();
  await page.getByText("No pending deliveries.").waitFor();
  assert.doesNotMatch((await page.locator("main").textContent()) ?? "", /team=b|whsec/);
  await press("Send a test");
  await page.getByRole("status").getByText("The receiver gave a valid response").waitFor();
  await press("Remove the receiver");
  await dialog.getByRole("button", { name: "Remove receiver" }).click();
  await page.getByText("No webhook. This agent polls for decisions.").waitFor();
});

test("deleting asks for the name, cancels what is pending in open inboxes too", async () => {
  const made = await server.provision(provisioner, "short-lived");
  const { id } = await server.submit(made.credential.token, { tool: "of-short-lived" });
  const other = await scene.member("ben");
  await other.page.goto("/inbox");
  const pending = other.page.locator(".row").filter({ hasText: "of-short-lived" });
  await pending.waitFor();
  await other.page.locator(".connection.live").waitFor();
  await page.goto(`/instances/${made.instance.id}`);
  await press("Delete");
  const confirm = page.getByRole("button", { name: "Delete permanently" });
  // It has the focus from the beginning.
  await dialog.locator("input:focus").waitFor();
  await page.keyboard.type("short");
  assert.equal(await confirm.isDisabled(), true);
  await picture(page, "instance-delete");
  await assertAccessible(page);
  await page.keyboard.type("-lived");
  await confirm.click();
  await page.waitForURL("**/instances");
  await list.getByRole("link").first().waitFor();
  await untilCount(list.getByRole("link").filter({ hasText: "short-lived" }), 0);
  assert.equal(await storedStatus(scene, id), "cancelled");
  // The clock does not advance, so no poll of the server can find it: the signal does.
  await pending.waitFor({ state: "detached" });
  await other.context.close();
  await page.goto(`/instances/${made.instance.id}`);
  await page.getByText("Instance not found").waitFor();
});

test("a role is not offered forbidden actions, and the server rejects them", async () => {
  const { id } = await server.submit(instance.token);
  await makeGrant(server, reviewer, { instance_id: instance.id, tool: "edit" });
  deliveries.answer = answering(500);
  await decideAndAttempt(deliveries);
  const offers = {
    viewer: [],
    auditor: [],
    reviewer: ["Freeze", "Revoke", "Retry now"],
    editor: ["Revoke", "Change groups and owner"],
  } as const;
  const all = ["Freeze", "Delete", "Revoke", "Retry now", "Change groups and owner"];
  for (const role of ["viewer", "auditor", "reviewer", "editor"] as const) {
    const other = await scene.member(`${role}-1`, { role });
    await other.page.goto(`/instances/${instance.id}`);
    await other.page.getByRole("table", { name: "Active grants" }).waitFor();
    await other.page.getByRole("table", { name: "Pending deliveries" }).waitFor();
    for (const name of all) {
      const isOffered = (offers[role] as readonly string[]).includes(name);
      const button = other.page.getByRole("button", { name, exact: true });
      assert.equal((await button.count()) > 0, isOffered, `${role}: ${name}`);
    }
    await other.page.goto("/instances/new");
    await other.page.getByText("Your role in this project may not create instances.").waitFor();
    const forged = await other.page.evaluate<number>(
      `fetch("/review/v1/instances/${instance.id}", { method: "DELETE" }).then((r) => r.status)`,
    );
    assert.equal(forged, 403);
    await other.context.close();
  }
  assert.equal(await storedStatus(scene, id), "pending");
});

test("by keyboard alone: an instance is opened, and frozen", async () => {
  await page.goto("/instances");
  await list.getByRole("link").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/instances\/[0-9a-f-]{36}$/);
  const freeze = page.getByRole("button", { name: "Freeze", exact: true });
  await freeze.focus();
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.ok(await freeze.evaluate((button) => button.matches(":focus")));
});

test("on a phone nothing scrolls sideways", async () => {
  for (const width of [320, 360]) {
    await page.setViewportSize({ width, height: 740 });
    await page.emulateMedia({ colorScheme: width === 320 ? "dark" : "light" });
    await page.goto("/instances");
    await list.getByRole("link").first().waitFor();
    await assertNoSideways(page);
    await assertTargets(page);
    await picture(page, `instances-phone-${width}`);
    await page.goto(`/instances/${instance.id}`);
    await page.getByRole("table", { name: "Pending deliveries" }).waitFor();
    await page.getByRole("table", { name: "Active grants" }).waitFor();
    await assertNoSideways(page);
    await assertTargets(page);
    await picture(page, `instance-phone-${width}`);
    await page.goto("/instances/new");
    await page.getByLabel("Name (optional)").waitFor();
    await assertNoSideways(page);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  assert.deepEqual(complaints, []);
});
