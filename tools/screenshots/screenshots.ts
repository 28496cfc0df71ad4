/**
 * Takes the pictures of the documentation from a server with seeded calls: `npm run screenshots`
 * writes docs/images. Names of the pictures say what they show; `-dark` and `-phone` are variants.
 * `npm run screenshots -- --every FOLDER` takes every screen in every size and theme instead.
 */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import {
  type MemberOptions,
  withBrowser,
} from "../../packages/console/test/support/console-scene.ts";
import { fillPolicy, policyField } from "../../packages/console/test/support/policy-editor.ts";
import { NO_RATES } from "../../packages/server/test/support/scene.ts";
import { startTestProvider } from "../../packages/server/test/support/test-provider.ts";
import { takeEveryScreen } from "./every-screen.ts";
import { CALLS, POLICY, POLICY_DRAFT, type SeededCall, SUSPICIOUS_EDIT } from "./seed.ts";

const IMAGES = resolve(import.meta.dirname, "../../docs/images");

const PHONE = { width: 360, height: 740, scale: 2 } as const;

type Scene = Awaited<ReturnType<typeof startScene>>;

const endings: (() => Promise<void> | void)[] = [];
const lifetime = { after: (end: () => Promise<void> | void) => void endings.push(end) };

async function startScene() {
  const server = await startTestProvider(lifetime, { settings: NO_RATES });
  return withBrowser(lifetime, { server });
}

/** @returns the id of the suspicious call */
async function seed({ server }: Scene): Promise<string> {
  const provisioner = await server.token({ kind: "provisioner" });
  const keys = new Map<string, string>();
  for (const agent of new Set([...CALLS, SUSPICIOUS_EDIT].map((call) => call.agent))) {
    keys.set(agent, (await server.provision(provisioner, agent)).credential.token);
  }
  const submit = async ({ agent, body }: SeededCall) => {
    return (await server.submit(keys.get(agent) ?? "", body)).id;
  };
  for (const call of CALLS) await submit(call);
  return submit(SUSPICIOUS_EDIT);
}

const LOGINS = ["ana", "bo", "cy", "dana", "eli", "fay", "gus", "hana", "ivo"];

async function visit(scene: Scene, path: string, options: MemberOptions = {}): Promise<Page> {
  const { page } = await scene.member(LOGINS.shift() ?? "", options);
  await page.goto(path);
  await page.locator(".row, .decide, .policy-verdict").first().waitFor();
  return page;
}

async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(IMAGES, `${name}.png`), animations: "disabled" });
  await page.context().close();
  console.log(`docs/images/${name}.png`);
}

async function takeInbox(scene: Scene): Promise<void> {
  await picture(await visit(scene, "/inbox"), "inbox");
  await picture(await visit(scene, "/inbox", { colorScheme: "dark" }), "inbox-dark");
  await picture(await visit(scene, "/inbox", PHONE), "inbox-phone");
  await picture(
    await visit(scene, "/inbox", { ...PHONE, colorScheme: "dark" }),
    "inbox-phone-dark",
  );
}

async function takeRequest(scene: Scene, id: string): Promise<void> {
  const path = `/inbox/${id}`;
  const size = { width: 1280, height: 900 };
  await picture(await visit(scene, path, size), "request");
  await picture(await visit(scene, path, { ...size, colorScheme: "dark" }), "request-dark");
  await picture(await visit(scene, path, PHONE), "request-phone");
}

async function takePolicies(scene: Scene): Promise<void> {
  const page = await visit(scene, "/policies", { role: "editor", width: 1280, height: 900 });
  const publish = page.getByRole("button", { name: "Publish", exact: true });
  await policyField(page).waitFor();
  await fillPolicy(page, POLICY);
  await publish.click();
  await page.getByRole("dialog").getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText("active", { exact: true }).waitFor();
  await fillPolicy(page, POLICY_DRAFT);
  await page.locator(".diff .removed").waitFor();
  await page.locator(".policy-verdict[aria-busy=false]").waitFor();
  await page.getByRole("button", { name: "Simulate", exact: true }).click();
  await page.locator(".changes").waitFor();
  await page.evaluate("scrollTo(0, 0)");
  await picture(page, "policies");
}

/** The pictures in the documentation. */
async function takeDocumented(scene: Scene, id: string): Promise<void> {
  mkdirSync(IMAGES, { recursive: true });
  await takeInbox(scene);
  await takeRequest(scene, id);
  await takePolicies(scene);
}

const OUTCOMES = ["approve", "approve", "deny", "approve"] as const;

async function takeEvery(scene: Scene, pending: string, folder: string): Promise<void> {
  const { server } = scene;
  const provisioner = await server.token({ kind: "provisioner" });
  const reviewer = await server.token({ kind: "reviewer" });
  const { instance, credential } = await server.provision(provisioner, "nightly-agent");
  let resolved = "";
  for (const [index, verdict] of [...OUTCOMES, ...OUTCOMES, ...OUTCOMES].entries()) {
    const { body } = CALLS[index % CALLS.length] as SeededCall;
    const { id } = await server.submit(credential.token, {
      ...body,
      context: { session_id: "nightly" },
    });
    await server.decide(reviewer, id, verdict);
    resolved = id;
  }
  const ids = { pending, resolved, instance: instance.id };
  await takeEveryScreen(folder, ids, scene.member);
}

const { every } = parseArgs({ options: { every: { type: "string" } } }).values;
try {
  const scene = await startScene();
  const id = await seed(scene);
  await (every === undefined ? takeDocumented(scene, id) : takeEvery(scene, id, resolve(every)));
} finally {
  for (const end of endings.toReversed()) await end();
}
