/**
 * What agents could send to deceive or to break the pages: it is text there.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startBrowser } from "./support/browser.ts";
import { picture, press, visit } from "./support/page-scene.ts";
import { startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, instance } = scene;
const browser = await startBrowser({ after });

const MARKUP = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
const SECRET = "a\u202eb\u200bc";

async function submitText(body: string): Promise<string> {
  const call = { token: instance.token, key: server.freshKey(), body };
  const { status, text, json } = await server.call<{ id: string }>("POST", "/v1/requests", call);
  assert.equal(status, 201, text);
  return json.id;
}

test("[ours.inbox.exact] markup, hidden and turning characters in every name are text, on the request and in the inbox", async () => {
  const provisioner = await server.token({ kind: "provisioner", name: "hostile" });
  const { credential } = await server.provision(provisioner, `${MARKUP}${SECRET}`);
  const args = `{ "n": 9007199254740993, "x": 1.10, "t": ${JSON.stringify(MARKUP + SECRET)} }`;
  const hostile = JSON.stringify(MARKUP + SECRET);
  const context = `{"cwd":${hostile}, "n": 1.0}`;
  const said = `"tool":${hostile},"agent_reasoning":${hostile},"context":${context}`;
  const body = `{${said},"arguments":${args},"timeout":"1h"}`;
  const call = { token: credential.token, key: server.freshKey(), body };
  const { json } = await server.call<{ id: string }>("POST", "/v1/requests", call);
  const {
    page,
    complaints,
    context: own,
  } = await visit(browser, server, "eve", {
    ...{ width: 360, height: 740, colorScheme: "dark" },
  });
  const seen = (text: string) =>
    text.replaceAll("\u202e", "\\u{202E}").replaceAll("\u200b", "\\u{200B}");
  const name = seen(MARKUP + SECRET);
  await page.goto("/inbox");
  await page.locator(".cards a").waitFor();
  const row = (await page.locator(".cards a").textContent()) ?? "";
  assert.ok(row.includes(name) && row.includes("9007199254740993") && row.includes("1.10"));
  await picture(page, "inbox-hostile-360-dark");
  await page.locator(".cards a").click();
  await page.waitForURL(`**/inbox/${json.id}`);
  await page.locator("#approve:visible").waitFor();
  await page.locator("#arguments:not(:empty)").waitFor();
  assert.equal(await page.locator("#arguments").textContent(), seen(args));
  assert.equal(await page.locator("#context").textContent(), seen(context));
  for (const id of ["tool", "instance", "reasoning"]) {
    assert.equal(await page.locator(`#${id}`).textContent(), name, id);
  }
  await picture(page, "request-hostile-360-dark");
  assert.equal(await page.evaluate("window.broken"), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
  assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
  assert.deepEqual(complaints, []);
  await own.close();
});

test("[ours.inbox.exact] long arguments are approved only when their end was on the screen, or all was asked for", async () => {
  const lines = Array.from({ length: 500 }, (_, n) => `  "line ${n}": ${n}`).join(",\n");
  const long = await submitText(`{"tool":"edit","arguments":{\n${lines}\n},"timeout":"1h"}`);
  const wide = await submitText(
    `{"tool":"edit","arguments":{"text":"${"x".repeat(100_000)}"},"timeout":"1h"}`,
  );
  const { page, complaints } = await visit(browser, server, "mo", { width: 1280, height: 720 });
  await page.goto(`/inbox/${long}`);
  await page.getByText("To approve, read to the end of the arguments").waitFor();
  await picture(page, "request-500-lines");
  const box = await page.locator("#approve").boundingBox();
  assert.ok(box !== null && box.y + box.height <= 720, "what decides is on the screen");
  assert.equal(await page.locator("#approve").isDisabled(), true);
  assert.equal(await page.locator("#deny").isDisabled(), false);
  await page.locator("#arguments-box").focus();
  await page.keyboard.press("End");
  await page.locator("#approve:enabled").waitFor();

  await page.goto(`/inbox/${wide}`);
  await page.getByText("To approve, read to the end of the arguments").waitFor();
  assert.equal(await page.locator("#approve").isDisabled(), true);
  await press(page, "Show all");
  await page.locator("#approve:enabled").waitFor();
  assert.equal(await page.getByRole("button", { name: "Show all" }).count(), 0);
  await press(page, "Approve");
  await page.getByText("Approved by you.").waitFor();
  assert.deepEqual(complaints, []);
});
