// Needs: frameworks, browser
// Process: own
/**
 * Runs the unchanged example with `useChat` in a browser, against a real provider.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { Child } from "@countersign/testing/child";
import { newVisitor, startBrowser } from "../../server/test/support/browser.ts";

const FOLDER = join(import.meta.dirname, "../../../examples/use-chat");

test("[ours.sdk.documented] the useChat example waits for a reviewer, then shows the result or the note of the denial", async (t) => {
  const scene = await startAgentScene(t);
  const command = ["npm", "start", "--silent"];
  const env = { ...process.env, ...scene.environment, PORT: "0" };
  const server = new Child(t, command, { cwd: FOLDER, env, isGroup: true });
  const [, url = ""] = await server.prints("stdout", /Open (\S+)/);
  const { page, complaints } = await newVisitor(await startBrowser(t), url);
  await page.goto(url);
  const ask = page.getByRole("button", { name: "Ask for a refund" });
  await ask.click();
  await page.getByText("waits for a reviewer").waitFor();
  await scene.decideNext("approve");
  await page.getByText("500 back for A-1", { exact: true }).waitFor();
  await ask.click();
  await page.getByText("waits for a reviewer").waitFor();
  await scene.decideNext("deny", { note: "Not that customer." });
  await page.getByText("did not run. This call was denied: Not that customer.").waitFor();
  await page.getByText("This call was denied: Not that customer.", { exact: true }).waitFor();
  assert.equal(await page.getByText("500 back for A-1", { exact: true }).count(), 1);
  assert.deepEqual(complaints, []);
  assert.equal(await scene.countRequests(), 2);
});
