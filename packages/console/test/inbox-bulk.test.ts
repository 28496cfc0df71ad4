// Needs: browser
/**
 * Many calls decided in one go: what may be, and that each gets a verdict of its own.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "../../server/test/support/manual-clock.ts";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { require } from "../../server/test/support/requirements.ts";
import { turns } from "../../server/test/support/until.ts";
import { rowOf, startInboxScene, untilLive, untilRows } from "./support/inbox-scene.ts";

/** Does not advance: the test decides when a delayed verdict applies. */
const clock = new ManualClock();
const scene = await startInboxScene({ after }, { clock });
const { server, instance } = scene;
const { store } = server.provider.context;
const { page, complaints } = await scene.visitor("ana");

async function submitAll(tool: string, all: readonly object[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, args] of all.entries()) {
    // Their order is that of their ends.
    const timeout = `${60 + index}m`;
    ids.push((await server.submit(instance.token, { tool, arguments: args, timeout })).id);
  }
  return ids;
}

const statusOf = async (id: string) => (await server.read(instance.token, id)).status;

async function open(): Promise<void> {
  await page.goto("/inbox");
  await page.locator(".row").first().waitFor();
  await untilLive(page);
}

test("[ours.console.groups] thirty identical calls of one instance are one row, and one note denies all", async () => {
  const ids = await submitAll("poll", Array(30).fill({ path: "/etc", n: 1 }));
  const other = await server.instance();
  await server.submit(other.token, { tool: "poll", arguments: { path: "/etc", n: 1 } });
  await open();
  const group = page.locator(".row").filter({ hasText: "× 30" });
  await group.waitFor();
  assert.equal(await page.locator(".row").count(), 2);
  await group.getByRole("button", { name: "Show the 30 calls" }).click();
  await group.getByText(ids[29] ?? "").waitFor();
  await picture(page, "inbox-group");
  await group.getByRole("checkbox").check();
  await page.getByText("30 calls selected").waitFor();
  await page.getByText("At most 20 calls can be approved together.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Approve…" }).isDisabled(), true);
  await press(page, "Deny…");
  await page.getByRole("dialog", { name: "Deny 30 calls" }).waitFor();
  const deny = page.getByRole("dialog").getByRole("button", { name: "Deny 30 calls" });
  assert.equal(await deny.isDisabled(), true, "a note is needed");
  await page.getByLabel("Why,").fill("Use the events.");
  await picture(page, "inbox-deny");
  await deny.click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await untilRows(page, 1);
  for (const id of ids) {
    const { status, decision } = await server.read(instance.token, id);
    assert.deepEqual([status, decision?.note], ["denied", "Use the events."]);
  }
  assert.deepEqual(complaints, []);
});

const AMOUNTS = ['{"order":"A-1","amount":10.50}', '{"order":"A-2","amount":9007199254740993}'];

test("[ours.console.bulk] calls with the same argument names are approved together after a review of their differences, and undone", async () => {
  const ids: string[] = [];
  for (const [index, source] of AMOUNTS.entries()) {
    const body = `{"tool":"refund","arguments":${source},"timeout":"${index + 1}h"}`;
    const call = { token: instance.token, key: server.freshKey(), body };
    ids.push((await server.call<{ id: string }>("POST", "/v1/requests", call)).json.id);
  }
  await open();
  for (const row of await rowOf(page, "refund").all()) await row.getByRole("checkbox").check();
  await press(page, "Approve…");
  const dialog = page.getByRole("dialog", { name: "Approve 2 calls" });
  await dialog.getByRole("columnheader", { name: "amount" }).waitFor();
  const cells = await dialog.locator("td").allTextContents();
  assert.deepEqual(cells, ['"A-1"', "10.50", '"A-2"', "9007199254740993"]);
  await picture(page, "inbox-approve");
  await press(page, "Approve 2 calls");
  await page.getByText("Approving 2 calls").waitFor();
  for (const id of ids) assert.equal(await statusOf(id), "pending", "nothing is decided yet");
  await picture(page, "inbox-held");
  await press(page, "Undo");
  await page.getByText("Approving 2 calls").waitFor({ state: "detached" });
  for (const id of ids) assert.equal(await statusOf(id), "pending", "taken back");

  for (const row of await rowOf(page, "refund").all()) await row.getByRole("checkbox").check();
  await press(page, "Approve…");
  await press(page, "Approve 2 calls");
  await page.getByText("Approving 2 calls").waitFor();
  await turns();
  clock.advance(5_000);
  // Workers ask the clock again after each step of theirs.
  for (let looks = 0; looks < 3_000 && (await rowOf(page, "refund").count()) > 0; looks++) {
    clock.advance(0);
  }
  await page.getByText("Approving 2 calls").waitFor({ state: "detached" });
  for (const id of ids) assert.equal(await statusOf(id), "approved");
  assert.deepEqual(complaints, []);
});

const rowWith = (id: string) => page.locator(`.row[data-id="${id}"]`);

test("[ours.console.bulk] calls that need a passkey, typing or several people, or differ in shape, cannot be approved together", async () => {
  const ids = await submitAll("drop", [
    { table: "a", force: true },
    { table: "b", force: true },
    { table: "c", force: "yes" },
  ]);
  const [plain = "", strict = ""] = ids;
  await open();
  const all = await rowOf(page, "drop").all();
  for (const row of all) await row.getByRole("checkbox").check();
  const approve = page.getByRole("button", { name: "Approve…" });
  await page
    .getByText("Calls with different argument names must be approved one by one.")
    .waitFor();
  assert.equal(await approve.isDisabled(), true);
  await all[2]?.getByRole("checkbox").uncheck();
  await page.locator("button.primary:enabled", { hasText: "Approve…" }).waitFor();

  const refusals = [
    [{ quorum: 2 }, "Calls that need several approvals"],
    [{ confirm: { kind: "match" } }, "Calls that need a typed confirmation"],
    [{ confirm: { kind: "passkey" } }, /need a passkey|cannot approve some/],
  ] as const;
  for (const [requirement, why] of refusals) {
    await require(store, strict, requirement);
    await open();
    for (const id of [plain, strict]) await rowWith(id).getByRole("checkbox").check();
    await page.getByText("2 calls selected").getByText(why).or(page.getByText(why)).waitFor();
    assert.equal(await approve.isDisabled(), true);
  }
  assert.equal(await statusOf(plain), "pending");
  assert.deepEqual(complaints, []);
});

test("[ours.console.bulk] a request decided elsewhere in the meantime keeps its decision, and its denial is not sent again", async () => {
  const [first = "", second = ""] = await submitAll("late", [{ n: 1 }, { n: 2 }]);
  await open();
  for (const row of await rowOf(page, "late").all()) await row.getByRole("checkbox").check();
  await press(page, "Deny…");
  await page.getByLabel("Why,").fill("No.");
  await page.route(`**/requests/${second}/verdict`, (route) => route.abort());
  // The list keeps showing the request that is decided elsewhere.
  await page.route(`**/requests/${first}`, (route) => route.abort());
  await page.route("**/requests?*", () => {});
  await server.decide(scene.reviewer, first, "approve");
  await page.getByRole("dialog").getByRole("button", { name: "Deny 2 calls" }).click();
  await page.getByText("Could not reach the server").waitFor();
  await page.unroute(`**/requests/${second}/verdict`);
  const sentAgain: string[] = [];
  page.on("request", (sent) => sent.method() === "POST" && sentAgain.push(sent.url()));
  await page.getByRole("dialog").getByRole("button", { name: "Deny 2 calls" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(
    sentAgain.map((url) => new URL(url).pathname),
    [`/review/v1/requests/${second}/verdict`],
  );
  assert.equal(await statusOf(first), "approved");
  assert.equal(await statusOf(second), "denied");
});

test("[ours.console.viewer] a viewer sees no decision controls, and the server rejects a forged verdict", async () => {
  const { id } = await server.submit(instance.token, { tool: "watched" });
  const viewer = await scene.visitor("vera", { role: "viewer" });
  await viewer.page.goto("/inbox");
  const row = rowOf(viewer.page, "watched");
  await row.waitFor();
  await untilLive(viewer.page);
  await viewer.page.getByRole("heading", { name: "Waiting for others" }).waitFor();
  assert.equal(await viewer.page.getByRole("checkbox").count(), 0);
  await viewer.page.keyboard.press("j");
  await viewer.page.locator(".row.current").first().waitFor();
  await viewer.page.keyboard.press("x");
  assert.equal(await viewer.page.locator(".action-bar").count(), 0);
  await picture(viewer.page, "inbox-viewer");
  const status = await viewer.page.evaluate(async (request) => {
    const path = `/review/v1/requests/${request}`;
    const shown = (await (await fetch(path)).json()) as { arguments_sha256: string };
    const { arguments_sha256 } = shown;
    const answer = await fetch(`${path}/verdict`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ verdict: "approve", arguments_sha256 }),
    });
    return answer.status;
  }, id);
  assert.equal(status, 403);
  assert.deepEqual(viewer.complaints, []);
});
