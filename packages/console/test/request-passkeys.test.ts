// Needs: browser
/**
 * Passkeys as people have them: in a real browser, with an authenticator that the browser plays.
 */

import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { verifyProof } from "../../server/src/audit/passkey-proof.ts";
import { makeSetupLink } from "../../server/src/operations/sign-in/makeSetupLink.ts";
import {
  newVisitor,
  startBrowser,
  type Visitor,
  type VisitorOptions,
} from "../../server/test/support/browser.ts";
import { picture, press } from "../../server/test/support/page-scene.ts";
import { require } from "../../server/test/support/requirements.ts";
import { auditOf } from "../../server/test/support/scene.ts";
import { startTestProvider, type TestProvider } from "../../server/test/support/test-provider.ts";
import { type Device, plugIn, recognise } from "../../server/test/support/virtual-authenticator.ts";
import { denyWith, untilEnabled } from "./support/request-scene.ts";

const browser = await startBrowser({ after });

interface PasskeyScene extends Visitor {
  readonly server: TestProvider;
  readonly instance: { readonly id: string; readonly token: string };
  readonly device: Device;
}

/** The first person of a new server, with a passkey and no password. */
async function setUp(t: TestContext, options: VisitorOptions = {}): Promise<PasskeyScene> {
  const server = await startTestProvider(t);
  const { publicUrl, context } = server.provider;
  const visitor = await newVisitor(browser, publicUrl, options);
  const device = await plugIn(visitor);
  const { page } = visitor;
  await page.goto(`/setup#${await makeSetupLink(context, "default")}`);
  await page.getByLabel("Your name", { exact: true }).fill("Ana Ibarra");
  await page.getByLabel("Login", { exact: true }).fill("ana@example.org");
  await picture(page, "passkey-setup");
  await press(page, "Create a passkey");
  await page.waitForURL("**/inbox");
  await page.goto("/settings");
  await page.locator("strong").getByText("Passkey on Linux", { exact: true }).waitFor();
  return { ...visitor, server, device, instance: await server.instance() };
}

const HOSTILE = '{"to": "a\u202eb\u200bc", "n": 9007199254740993, "amount": 1.10, "big": 1e400}';

/** A call that has to be signed, as its arguments were sent. */
async function submit(
  { server, instance }: PasskeyScene,
  argumentsText = HOSTILE,
): Promise<string> {
  const body = `{"tool":"pay","arguments":${argumentsText},"timeout":"1h"}`;
  const call = { token: instance.token, key: server.freshKey(), body };
  const { json } = await server.call<{ id: string }>("POST", "/v1/requests", call);
  const confirm = { kind: "passkey" } as const;
  await require(server.provider.context.store, json.id, { confirm, noteRequired: true });
  return json.id;
}

async function statusOf({ server, instance }: PasskeyScene, id: string): Promise<string> {
  return (await server.read(instance.token, id)).status;
}

test("[ours.passkey.browser] [ours.inbox.page] [ours.passkey.link] a person sets up with a passkey, signs in with it and signs a decision", async (t) => {
  const scene = await setUp(t);
  const { page, complaints, server } = scene;
  const id = await submit(scene);
  await press(page, "Sign out");
  await page.waitForURL("**/sign-in");
  await page.goto(`/inbox/${id}`);
  await page.waitForURL("**/sign-in?next=*");
  await picture(page, "passkey-sign-in");
  await press(page, "Sign in with a passkey");
  await page.waitForURL(`**/inbox/${id}`);

  await page.locator("#arguments mark").first().waitFor();
  const shown = await page.locator("#arguments").textContent();
  assert.equal(shown, HOSTILE.replace("\u202e", "\\u{202E}").replace("\u200b", "\\u{200B}"));
  assert.equal(await page.locator("#arguments mark").count(), 2);
  await untilEnabled(page);
  await picture(page, "passkey-sign");
  await press(page, "Approve with a passkey");
  await page.getByText("Enter a note").waitFor();
  await page.getByLabel("Note for the agent").fill("Agreed on the phone.");
  await press(page, "Approve with a passkey");
  await page.getByText("Approved by you.").waitFor();
  await picture(page, "passkey-signed");

  assert.equal(await statusOf(scene, id), "approved");
  const entries = await auditOf({ server }, `request:${id}`);
  const finding = verifyProof(entries.at(-1)?.detail ?? {}, id);
  assert.equal(finding.kind === "proven" && finding.origin, server.provider.publicUrl);
  assert.deepEqual(complaints, []);
});

test("[ours.passkey.browser] [ours.passkey.verified] a device without user verification signs nothing", async (t) => {
  const scene = await setUp(t);
  const { page, device } = scene;
  const id = await submit(scene);
  await page.goto(`/inbox/${id}`);
  await untilEnabled(page);
  await page.getByLabel("Note for the agent").fill("yes");
  await recognise(device, false);
  await press(page, "Approve with a passkey");
  await page.getByRole("alert").getByText("The browser returned no passkey").waitFor();
  assert.equal(await statusOf(scene, id), "pending");
  await recognise(device, true);
  await press(page, "Approve with a passkey");
  await page.getByText("Approved by you.").waitFor();
});

/** Signs in the page with options that ask for less than the server does. */
const SIGN_UNVERIFIED = `async (id) => {
  const headers = { "content-type": "application/json" };
  const send = async (path, body) => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch("/review/v1/requests/" + id + path, init);
    return { status: response.status, json: await response.json() };
  };
  const request = await (await fetch("/review/v1/requests/" + id)).json();
  const verdict = { verdict: "approve", arguments_sha256: request.arguments_sha256, note: "x" };
  const { json } = await send("/verdict/challenge", verdict);
  const options = { ...json.options, userVerification: "discouraged" };
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey });
  const passkey = { nonce: json.nonce, assertion: credential.toJSON() };
  return send("/verdict", { ...verdict, passkey });
}`;

test("[ours.passkey.verified] a page that asks for no verification of the user gets no approval", async (t) => {
  const scene = await setUp(t);
  const { page, device } = scene;
  const id = await submit(scene);
  await page.goto(`/inbox/${id}`);
  await page.getByLabel("Note for the agent").waitFor();
  await recognise(device, false);
  const answer = await page.evaluate(`(${SIGN_UNVERIFIED})(${JSON.stringify(id)})`);
  const { status, json } = answer as { status: number; json: { error: { code: string } } };
  assert.deepEqual([status, json.error.code], [403, "passkey_refused"]);
  assert.equal(await statusOf(scene, id), "pending");
});

test("[ours.passkey.browser] a call is denied without a passkey, and the page then has no decision controls", async (t) => {
  const scene = await setUp(t);
  const { page, device, complaints } = scene;
  const id = await submit(scene);
  await recognise(device, false);
  await page.goto(`/inbox/${id}`);
  await denyWith(page, "Not this one.");
  await page.getByText("Denied by you.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Deny" }).count(), 0);
  await page.reload();
  await page.getByText("Denied by you.").waitFor();
  assert.equal(await statusOf(scene, id), "denied");
  await page.goto("/inbox/none");
  await page.getByRole("alert").waitFor();
  assert.deepEqual(complaints, []);
});

test("[ours.passkey.browser] [ours.passkey.account] one's passkeys are added, named and removed in the settings", async (t) => {
  const scene = await setUp(t, { width: 360, height: 740 });
  const { page, complaints, device } = scene;
  await press(page, "Remove Passkey on Linux");
  await press(page, "Remove passkey");
  await page.getByRole("alert").getByText("your only way to sign in").waitFor();
  await page.keyboard.press("Escape");
  await press(page, "Create a passkey");
  await page.getByRole("alert").getByText("already has a passkey for this account").waitFor();
  const [credential] = (
    await device.cdp.send("WebAuthn.getCredentials", { authenticatorId: device.id })
  ).credentials;
  await device.cdp.send("WebAuthn.removeCredential", {
    authenticatorId: device.id,
    credentialId: credential?.credentialId ?? "",
  });
  await press(page, "Create a passkey");
  await page.getByRole("button", { name: "Remove Passkey on Linux" }).nth(1).waitFor();
  await picture(page, "passkey-account-360");
  await page.getByRole("button", { name: "Rename Passkey on Linux" }).first().click();
  await page.getByLabel("Name of the passkey").fill("Old phone");
  await press(page, "Save name");
  await page.locator("strong").getByText("Old phone", { exact: true }).waitFor();
  await press(page, "Remove Old phone");
  await press(page, "Remove passkey");
  await page
    .locator("strong")
    .getByText("Old phone", { exact: true })
    .waitFor({ state: "detached" });
  await page.locator("strong").getByText("Passkey on Linux", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
});

test("[ours.passkey.browser] the page that signs fits a phone of 320 px, and each target is at least 44 px", async (t) => {
  const scene = await setUp(t, { width: 320, height: 640, colorScheme: "dark" });
  const { page } = scene;
  const id = await submit(scene, `{"path":"${"long/".repeat(60)}","text":"${"x".repeat(400)}"}`);
  await page.goto(`/inbox/${id}`);
  await page.locator("#timeline").waitFor();
  await picture(page, "passkey-sign-320-dark");
  const width = await page.evaluate("document.documentElement.scrollWidth");
  assert.ok(Number(width) <= 320, `${width} px wide`);
  for (const element of await page.locator("main button, main textarea, main .back a").all()) {
    const box = await element.boundingBox();
    if (box !== null) assert.ok(box.height >= 44, `${box.height} px`);
  }
});
