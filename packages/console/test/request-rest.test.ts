// Needs: browser
/** Approving the rest of a response on the page of a request. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listGrants } from "../../server/test/support/grants.ts";
import { picture } from "../../server/test/support/page-scene.ts";
import { assertAccessible, assertNoSideways, assertTargets } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import {
  openRequest,
  submitText,
  untilDecided,
  untilEnabled,
  untilGiven,
} from "./support/request-scene.ts";

const scene = await startConsoleScene({ after }, { settings: { extensions: "server" } });
const { server, instance, reviewer } = scene;
const ana = await scene.visitor("ana", { width: 1280, height: 720 });
const ben = await scene.visitor("ben", { width: 360, height: 740 });

let turns = 0;

/** A new turn of the same session. */
function newTurn(): object {
  return { session_id: "5f0c7a0e-3c1f-4a86-9a3e-0a4f4f1f7a10", prompt_id: `prompt-${++turns}` };
}

const submitIn = (context: object, tool = "edit") =>
  submitText(scene, `{"path":"src/a","n":${turns}}`, {
    tool,
    more: `,"context":${JSON.stringify(context)}`,
  });

async function statusIn(context: object, fields: object = {}): Promise<string> {
  const body = { tool: "edit", arguments: { path: "src/b" }, context, ...fields };
  return (await server.submit(instance.token, body)).status;
}

test("[ours.request.rest] one click approves the call and creates a grant for the rest of the response", async () => {
  const context = newTurn();
  const id = await submitIn(context);
  const { page, complaints } = ana;
  await openRequest(page, id);
  await untilEnabled(page);
  await page.locator("#approve-rest").scrollIntoViewIfNeeded();
  await picture(page, "rest-offered-desktop");
  await assertAccessible(page);
  await page.locator("#approve-rest:enabled").click();
  await page.locator("#rest-granted").getByText("up to 100 calls of edit").waitFor();
  await picture(page, "rest-held-desktop");
  await untilGiven(scene, page);
  await page.getByText("Approved by you.").waitFor();
  await picture(page, "rest-approved-desktop");
  await assertAccessible(page);
  const [grant] = await listGrants(server, reviewer);
  assert.deepEqual(
    [grant?.tool, grant?.turn, grant?.calls_max, grant?.reviewer.name],
    ["edit", `prompt-${turns}`, 100, "ana"],
  );
  const lasts = Date.parse(grant?.expires_at ?? "") - Date.parse(grant?.created_at ?? "");
  assert.equal(lasts, 3_600_000);
  assert.equal(await statusIn(context), "approved");
  assert.equal(await statusIn(context, { tool: "remove" }), "pending");
  assert.equal(await statusIn(newTurn()), "pending");
  await page.locator("#rest-granted").getByRole("link", { name: "Grant" }).click();
  const table = page.getByRole("table", { name: "Active grants" });
  await table.getByText("in turn prompt-1").waitFor();
  await picture(page, "rest-grant-listed-desktop");
  await page.goBack();
  await page.locator("#tool").waitFor();
  assert.deepEqual(complaints, []);
});

test("[ours.request.rest] on a phone, later calls of any tool are approved with the note, until the reviewer revokes the grant", async () => {
  const context = newTurn();
  const id = await submitIn(context);
  const { page, complaints } = ben;
  await openRequest(page, id);
  await untilEnabled(page);
  await page.locator("#note").fill("Stay below src.");
  await page.getByLabel("Later calls of any tool").check();
  await page
    .getByText(/later calls of any tool with the same instance, session and turn/)
    .waitFor();
  await picture(page, "rest-offered-360");
  await assertNoSideways(page);
  await assertTargets(page);
  await page.locator("#approve-rest").click();
  await page.locator("#rest-granted").getByText("up to 100 calls of any tool").waitFor();
  await picture(page, "rest-held-360");
  await assertTargets(page);
  await untilGiven(scene, page);
  await page.getByText("Approved by you.").waitFor();
  await picture(page, "rest-approved-360");
  assert.equal(await statusIn(context, { tool: "remove", server: "files" }), "approved");
  const { decision } = await server.submit(instance.token, { tool: "edit", context });
  assert.equal(decision?.note, "Stay below src.");
  await page.getByRole("button", { name: "Revoke the grant" }).click();
  await page.getByText("The grant is revoked.").waitFor();
  assert.equal(await statusIn(context), "pending");
  assert.deepEqual(complaints, []);
});

test("[ours.request.rest] Undo cancels the approval and revokes the grant", async () => {
  const context = newTurn();
  const id = await submitIn(context);
  const { page } = ana;
  await openRequest(page, id);
  await untilEnabled(page);
  await page.locator("#approve-rest").click();
  await page.locator("#rest-granted").waitFor();
  assert.equal(await statusIn(context), "approved");
  await page.locator("#undo").click();
  await page.getByText("The grant is revoked.").waitFor();
  await untilEnabled(page);
  assert.equal((await server.read(instance.token, id)).status, "pending");
  assert.equal(await statusIn(context), "pending");
  await page.locator("#approve-rest:enabled").click();
  await page.locator("#rest-granted").getByText("up to 100 calls of edit").waitFor();
  await untilDecided(scene, id, 5_000);
  assert.equal(await statusIn(context), "approved");
});

test("[ours.hold.grant] Undo in the inbox cancels the approval and revokes the grant", async () => {
  const context = newTurn();
  const id = await submitIn(context);
  const { page } = ana;
  await openRequest(page, id);
  await untilEnabled(page);
  await page.locator("#approve-rest").click();
  await page.locator("#rest-granted").waitFor();
  await page.getByRole("link", { name: "Inbox" }).first().click();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
  assert.equal((await server.read(instance.token, id)).status, "pending");
  assert.equal(await statusIn(context), "pending");
});

test("[ours.request.rest] Undo during the creation of the grant cancels the approval and revokes the grant", async () => {
  const context = newTurn();
  const id = await submitIn(context);
  const { page } = ana;
  await openRequest(page, id);
  await untilEnabled(page);
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/review/v1/grants", async (route) => {
    await isReleased;
    await route.continue();
  });
  await page.locator("#approve-rest").click();
  await page.locator("#undo").click();
  release();
  await page.getByText("The grant is revoked.").waitFor();
  await untilEnabled(page);
  assert.equal((await server.read(instance.token, id)).status, "pending");
  assert.equal(await statusIn(context), "pending");
  await page.unroute("**/review/v1/grants");
});

test("[ours.request.rest] without a turn, or with a rule that forbids grants, only the call can be approved", async () => {
  const { page } = ana;
  const forbidden = await submitText(scene, '{"n":1}', {
    more: `,"context":${JSON.stringify(newTurn())}`,
    requirement: { grants: false },
  });
  const noTurn = await submitIn({ session_id: "s" });
  for (const id of [forbidden, noTurn]) {
    await openRequest(page, id);
    await untilEnabled(page);
    assert.equal(await page.locator("#approve-rest").count(), 0);
  }
});

test("[ours.request.rest] a note that is too long for the grant is reported before anything is decided", async () => {
  const { page } = ana;
  const context = newTurn();
  const id = await submitIn(context);
  await openRequest(page, id);
  await untilEnabled(page);
  await page.locator("#note").fill("x".repeat(2_001));
  await page.locator("#approve-rest").click();
  await page.locator("#note-fault").getByText("Use at most 2000 characters").waitFor();
  assert.equal((await server.read(instance.token, id)).status, "pending");
  assert.equal(await page.locator("#held").count(), 0);
  assert.equal(await statusIn(context), "pending");
});

test("[ours.request.rest] if the server rejects the grant, the page states it, and the approval can be undone", async () => {
  const { page } = ana;
  const context = newTurn();
  const id = await submitIn(context);
  await openRequest(page, id);
  await untilEnabled(page);
  const error = { code: "invalid_request", message: "The instance has 100 active grants." };
  const body = JSON.stringify({ error });
  await page.route("**/review/v1/grants", (route) =>
    route.fulfill({ status: 400, contentType: "application/json", body }),
  );
  await page.locator("#approve-rest").click();
  await page
    .locator("#alert")
    .getByText(/This call is approved, but .+ failed: The instance has 100 active grants\./)
    .waitFor();
  await page.locator("#undo").click();
  await untilEnabled(page);
  assert.equal((await server.read(instance.token, id)).status, "pending");
  await page.unroute("**/review/v1/grants");
});
