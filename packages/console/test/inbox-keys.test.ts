// Needs: browser
/**
 * The inbox by keyboard alone, and what its address holds.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { rowOf, startInboxScene, toolsOf, untilLive, untilRows } from "./support/inbox-scene.ts";

const scene = await startInboxScene({ after });
const { server, instance } = scene;
const { page, complaints } = await scene.visitor("ana");

const TOOLS = ["alpha", "beta", "gamma"];
const ids: string[] = [];
for (const [index, tool] of TOOLS.entries()) {
  const timeout = `${index + 1}h`;
  ids.push((await server.submit(instance.token, { tool, timeout })).id);
}

function query(name: string): string | null {
  return new URL(page.url()).searchParams.get(name);
}

async function untilOn(tool: string): Promise<void> {
  await page.locator(".row.current .tool").getByText(tool, { exact: true }).waitFor();
  await page.locator(":focus .tool").getByText(tool, { exact: true }).waitFor();
}

async function open(path = "/inbox"): Promise<void> {
  await page.goto(path);
  await rowOf(page, "alpha").waitFor();
  await untilLive(page);
}

test("[ours.console.keys] j and k move, Enter opens, and going back leads to the row", async () => {
  await open();
  await page.keyboard.press("j");
  await untilOn("alpha");
  await page.keyboard.press("j");
  await untilOn("beta");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await untilOn("gamma");
  await page.keyboard.press("k");
  await untilOn("beta");
  assert.equal(query("at"), ids[1]);
  await picture(page, "inbox-current");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/inbox/${ids[1]}`);
  await page.goBack();
  await untilOn("beta");
  assert.deepEqual(complaints, []);
});

test("[ours.console.keys] x selects, Escape clears the selection, / filters, and a reload keeps the state", async () => {
  await open();
  await page.keyboard.press("j");
  await untilOn("alpha");
  await page.keyboard.press("x");
  await page.getByText("1 call selected").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("alpha prod");
  await untilRows(page, 1);
  assert.equal(query("filter"), "alpha prod");
  await page.reload();
  await untilRows(page, 1);
  await page.getByText("1 call selected").waitFor();
  assert.equal(await rowOf(page, "alpha").getByRole("checkbox").isChecked(), true);
  assert.equal(await page.getByRole("searchbox").inputValue(), "alpha prod");
  // Text typed into the filter triggers no shortcut. It may match the name of an instance.
  await page.getByRole("searchbox").fill("");
  await page.getByRole("searchbox").pressSequentially("x%");
  await page.getByText("No pending request matches this filter").waitFor();
  await page.getByRole("searchbox").fill("");
  await untilRows(page, 3);
  await page.getByRole("searchbox").press("Escape");
  await page.keyboard.press("Escape");
  await page.getByText("1 call selected").waitFor({ state: "detached" });
  assert.equal(query("selected"), null);
  assert.deepEqual(await toolsOf(page), TOOLS);
});

/** Until the server has kept what was chosen. */
async function chosen(choose: () => Promise<void>): Promise<void> {
  const kept = page.waitForResponse((response) => response.url().endsWith("/preferences"));
  await choose();
  await kept;
}

test("[ours.console.keys] ? lists the keys, which can be switched off and stay off", async () => {
  await open();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.getByText("Select the row").waitFor();
  await picture(page, "inbox-keys");
  await chosen(() => dialog.getByLabel("Keyboard shortcuts").uncheck());
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.reload();
  await rowOf(page, "alpha").waitFor();
  await page.keyboard.press("j");
  // A key that acts always is handled after the one that must not.
  await page.keyboard.press("?");
  await dialog.waitFor();
  assert.equal(query("at"), null);
  await chosen(() => dialog.getByLabel("Keyboard shortcuts").check());
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await untilOn("alpha");
});

test("[ours.console.keys] without a mouse a call is found by Tab, selected and denied, with the focus in sight", async () => {
  await open();
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press("Tab");
    const on = await page.evaluate("document.activeElement.closest('.row') !== null");
    if (on) break;
  }
  await page.keyboard.press("Space");
  await page.getByText("1 call selected").waitFor();
  const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
  assert.notEqual(outline, "none");
  const deny = page.getByRole("button", { name: "Deny…" });
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press("Tab");
    if (
      await deny.evaluate((button: { matches(css: string): boolean }) => button.matches(":focus"))
    ) {
      break;
    }
  }
  await page.keyboard.press("Enter");
  await page.locator("#deny-note:focus").waitFor();
  await page.keyboard.type("Ask again tomorrow.");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await rowOf(page, "alpha").waitFor({ state: "detached" });
  const { decision } = await server.read(instance.token, ids[0] ?? "");
  assert.equal(decision?.note, "Ask again tomorrow.");
  assert.deepEqual(complaints, []);
});
