// Needs: browser
/**
 * Rules in words, templates and grouped simulations of the Policies screen in a real browser.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { picture } from "../../server/test/support/page-scene.ts";
import { publish } from "../../server/test/support/publishing.ts";
import { assertAccessible } from "./support/axe.ts";
import { startConsoleScene } from "./support/console-scene.ts";
import { fillPolicy, policyField, policyText } from "./support/policy-editor.ts";
import { untilFits } from "./support/waits.ts";

const POLICY = `version: 1
rules:
  - id: no-production
    match: { tool: db.* }
    when: has(args.env) && args.env == "prod"
    then: deny
  - id: mails
    match: { tool: mail.send }
    then: ask
    ask: { note: required }
tests:
  - given: { tool: mail.send }
    expect: { then: ask }
`;

const scene = await startConsoleScene({ after });
const { server, instance } = scene;
const editor = await server.token({ kind: "reviewer", name: "ed", role: "editor" });
assert.equal((await publish(server, editor, POLICY, 0)).status, 201);
for (const to of ["a", "b", "c"]) {
  await server.submit(instance.token, { tool: "mail.send", arguments: { to } });
}
await server.submit(instance.token, { tool: "db.read", arguments: { env: "prod" } });
const { page, complaints } = await scene.visitor("eda", { role: "editor" });
const rules = page.getByRole("region", { name: "Rules in words" });

function ruleNamed(id: string) {
  return rules.getByRole("listitem").filter({ hasText: id });
}

test("[ours.console.policies.words] each rule is a sentence with the number of calls that it matched, and leads to its line", async () => {
  await page.goto("/policies");
  const mails = ruleNamed("mails");
  await mails
    .getByText("Asks a reviewer about calls of mail.send. Approvers must add a note.")
    .waitFor();
  await mails.getByText("matched 3 calls, decided 3").waitFor();
  await ruleNamed("no-production").getByText("matched 1 call, decided 1").waitFor();
  await picture(page, "policies-rules");
  await mails.getByRole("button", { name: "Line 7" }).click();
  await policyField(page).and(page.locator(":focus")).waitFor();
});

test("[ours.console.policies.unreachable] a rule that can never decide has a warning at the rule", async () => {
  const rule =
    "  - { id: late, match: { tool: mail.send, instance: { name: x } }, then: approve }\n";
  await fillPolicy(page, POLICY.replace("tests:\n", `${rule}tests:\n`));
  const warning = "this rule never decides: `mails` on line 7 asks for all calls that it matches";
  await ruleNamed("late").getByText(warning).waitFor();
  await page.locator(".cm-lint-marker-warning").waitFor();
  await picture(page, "policies-unreachable");
  await assertAccessible(page);
});

test("[ours.console.policies.simulate] changed calls are grouped by tool and change", async () => {
  await fillPolicy(page, POLICY.replace("then: ask\n    ask: { note: required }", "then: deny"));
  await page.locator(".policy-verdict[aria-busy=false]").waitFor();
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.getByText("4 calls checked: 3 change from ask to deny, 1 unchanged.").waitFor();
  const group = page.locator(".changes > li");
  assert.equal(await group.count(), 1);
  await group.getByText("ask to deny, 3 calls").click();
  await group.getByRole("button", { name: "Show arguments" }).nth(1).click();
  await group.getByText(/^\{"to":"[abc]"\}$/).waitFor();
  await picture(page, "policies-grouped");
});

test("[ours.console.policies.templates] a template replaces the text after a question, and the editor has the focus", async () => {
  const draft = await policyText(page);
  await page.getByLabel("Template").selectOption("Support agent");
  await page.getByRole("button", { name: "Use template" }).click();
  const question = page.getByRole("dialog");
  await question.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await policyText(page), draft);
  await page.getByRole("button", { name: "Use template" }).click();
  await question.getByRole("button", { name: "Replace" }).click();
  await page.locator(".cm-line").getByText("# A support agent that answers tickets").waitFor();
  await policyField(page).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ControlOrMeta+z");
  assert.equal(await policyText(page), draft);
  assert.deepEqual(complaints, []);
});

test("[ours.console.policies.words] a viewer reads the rules in words", async () => {
  const { page: reader } = await scene.visitor("vi", { role: "viewer" });
  await reader.goto("/policies");
  const region = reader.getByRole("region", { name: "Rules in words" });
  await region.getByText("Asks a reviewer about calls of mail.send.").waitFor();
  await reader.setViewportSize({ width: 390, height: 844 });
  await region.scrollIntoViewIfNeeded();
  await picture(reader, "policies-rules-phone");
  await untilFits(reader, 390);
});
