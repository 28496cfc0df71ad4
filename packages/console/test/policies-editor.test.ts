// Needs: browser
/**
 * The text editor of the Policies screen in a real browser: typing, completing, leaving it.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { fillPolicy, policyField, policyText } from "./support/policy-editor.ts";
import { untilFits } from "./support/waits.ts";

const scene = await startConsoleScene({ after });
const { server, instance } = scene;
await server.submit(instance.token, {
  tool: "mail.send",
  arguments: { recipient: "secret-value", body: { subject: "secret-value" } },
});
await server.submit(instance.token, { tool: "mail\u202e.read", arguments: {} });
const { page, complaints } = await scene.visitor("eda", { role: "editor" });
const field = policyField(page);
const options = page.getByRole("listbox", { name: "Completions" }).getByRole("option");

const START = "version: 1\nrules:\n  - id: mails\n    ";

/** Opens the completions, and returns what they offer. */
async function complete(source: string): Promise<string[]> {
  await fillPolicy(page, source);
  await page.keyboard.press("Control+Space");
  await options.first().waitFor();
  return options.allInnerTexts();
}

test("[ours.console.policies.editor] the editor completes keywords, tools and members of arguments from calls of the past", async () => {
  await page.goto("/policies");
  await field.waitFor();
  assert.ok((await complete(`${START}ma`)).includes("match"));
  await options.filter({ hasText: "match" }).click();
  await options.first().waitFor({ state: "detached" });
  assert.equal(await policyText(page), `${START}match: `);

  const tools = await complete(`${START}match: { tool: mail`);
  assert.ok(tools.includes("mail.send"), tools.join());
  // A hidden character is written out.
  assert.ok(
    tools.some((name) => name.includes("\\u{202E}") || name.includes("202e")),
    tools.join(),
  );
  await picture(page, "policies-completion");
  await options.filter({ hasText: "mail.send" }).click();
  assert.equal(await policyText(page), `${START}match: { tool: mail.send`);

  const members = await complete(`${START}when: args.`);
  assert.deepEqual(members, ["bodymail.send", "recipientmail.send"]);
  await page.keyboard.press("Escape");
  assert.deepEqual(await complete(`${START}when: args.body.`), ["subjectmail.send"]);
  await page.keyboard.press("Escape");
  assert.deepEqual(await complete(`${START}then: `), ["approve", "ask", "deny"]);
  await page.keyboard.press("Escape");
});

test("[ours.console.policies.editor] Tab and Shift+Tab leave the editor, and Enter keeps the indentation", async () => {
  await fillPolicy(page, START);
  await page.keyboard.type("then: ask\nnote: Ask.");
  assert.equal(await policyText(page), `${START}then: ask\n    note: Ask.`);
  await page.keyboard.press("Tab");
  await field.and(page.locator(":focus")).waitFor({ state: "detached" });
  await page.keyboard.press("Shift+Tab");
  await field.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Shift+Tab");
  await field.and(page.locator(":focus")).waitFor({ state: "detached" });
});

test("[ours.console.policies.editor] a draft that was typed survives a reload with its colours, and a key of the console does nothing while typing", async () => {
  await fillPolicy(
    page,
    `${START}match: { tool: mail.send }\n    when: size(args.recipient) > 3\n    then: ask # why`,
  );
  await page.keyboard.type("?");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.locator(".policy-verdict[aria-busy=false]").waitFor();
  await page.reload();
  await page.locator(".cel-function").getByText("size").waitFor();
  assert.match(await policyText(page), /then: ask # why\?$/);
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "policies-editor-dark");
  await assertAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await picture(page, "policies-editor-phone");
  await untilFits(page, 390);
  assert.deepEqual(complaints, []);
});

test("[ours.console.policies.editor] without the editor's script, the text is readable and a long line scrolls by itself", async () => {
  const reader = await scene.member("rea", { role: "viewer", width: 640 });
  await reader.context.route("**/assets/code-editor-*.js", (route) => route.abort());
  await reader.page.goto("/policies");
  await reader.page.getByText("Could not load the editor.").waitFor();
  const text = reader.page.getByRole("group", { name: "Policy text" });
  await text.getByText("version: 1").waitFor();
  await untilFits(reader.page, 640);
  await reader.context.close();
});
