// Needs: browser
/**
 * The list of the inbox: its content, its order, and that the scroll position is kept.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { require } from "../../server/test/support/requirements.ts";
import { rowOf, startInboxScene, toolsOf, untilLive } from "./support/inbox-scene.ts";

const scene = await startInboxScene({ after });
const { server, instance } = scene;
const { store } = server.provider.context;
const ana = await scene.visitor("ana");

test("[ours.inbox.list] an empty inbox says what happens next; a call appears by itself, is announced, and goes when it is decided", async () => {
  const { page, complaints } = ana;
  await page.goto("/inbox");
  await page.getByText("New requests appear here automatically").waitFor();
  await page.getByText("Connect an agent").waitFor();
  await untilLive(page);
  await picture(page, "inbox-empty");
  const { id } = await server.submit(instance.token, { arguments: { env: "staging" } });
  const row = rowOf(page, "deploy");
  await row.getByText("env: staging").waitFor();
  await row.getByText("no policy yet").waitFor();
  await row.getByText("59 min").waitFor();
  await page.locator("#news").getByText("New: 1. 1 in total").waitFor({ state: "attached" });
  assert.match(await page.title(), /^\(1\) Inbox/);
  await picture(page, "inbox-one");
  await server.decide(scene.reviewer, id, "deny");
  await page.getByRole("heading", { name: "No requests need your decision" }).waitFor();
  assert.equal(await page.locator(".row").count(), 0);
  assert.deepEqual(complaints, []);
});

test("[ours.inbox.list] own requests come first, ordered by deadline, and the scroll position is kept", async () => {
  const { page, complaints } = ana;
  const later = await server.submit(instance.token, { tool: "later", timeout: "3h" });
  await server.submit(instance.token, { tool: "soon", timeout: "2h" });
  const other = await server.submit(instance.token, { tool: "of-others", timeout: "1h" });
  await require(store, other.id, { from: [["group:dba"]] });
  await require(store, later.id, { quorum: 2 });
  await page.setViewportSize({ width: 360, height: 300 });
  await page.goto("/inbox");
  await rowOf(page, "of-others").locator(".why").getByText("production").waitFor();
  assert.deepEqual(await toolsOf(page), ["soon", "later", "of-others"]);
  await page.getByText("0/2 votes").waitFor();
  await rowOf(page, "later").getByText("Strict").waitFor();
  await rowOf(page, "of-others").getByText("Extra").waitFor();
  assert.equal(await rowOf(page, "soon").locator(".risk").count(), 0, "a click is enough");
  await untilLive(page);

  const row = rowOf(page, "later");
  await row.getByRole("link").focus();
  await page.evaluate("scrollBy(0, 40)");
  const before = await row.boundingBox();
  await server.submit(instance.token, { tool: "first", timeout: "30m" });
  await rowOf(page, "first").waitFor();
  assert.deepEqual(await toolsOf(page), ["first", "soon", "later", "of-others"]);
  const moved = ((await row.boundingBox())?.y ?? 0) - (before?.y ?? 0);
  assert.ok(Math.abs(moved) <= 1, `it moved ${moved} px`);
  assert.equal(await page.locator(":focus .tool").textContent(), "later");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/inbox/${later.id}`);
  await page.goBack();
  await page.waitForURL(`**/inbox?at=${later.id}`);
  assert.deepEqual(complaints, []);
});
