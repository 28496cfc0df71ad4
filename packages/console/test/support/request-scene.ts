/**
 * Requests as people decide them in the console: what tests of the page of a request begin with.
 */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Requirement } from "../../../server/src/policy/rule.ts";
import { require } from "../../../server/test/support/requirements.ts";
import { PATIENCE_MS, until } from "../../../server/test/support/until.ts";
import { HOLD_MS } from "../../src/screens/request/available-actions.ts";
import type { ConsoleScene } from "./console-scene.ts";

export interface SubmitTextOptions {
  readonly tool?: string;
  /** Members of the body besides, as JSON: `,"context":{}`. */
  readonly more?: string;
  readonly requirement?: Partial<Requirement>;
  readonly timeout?: string;
}

/** Submits arguments as exactly this text, and answers the id. */
export async function submitText(
  { server, instance }: Pick<ConsoleScene, "server" | "instance">,
  argumentsText: string,
  { tool = "deploy", more = "", requirement, timeout = "1h" }: SubmitTextOptions = {},
): Promise<string> {
  const rest = `"arguments":${argumentsText}${more},"timeout":"${timeout}"`;
  const body = `{"tool":${JSON.stringify(tool)},${rest}}`;
  const call = { token: instance.token, key: server.freshKey(), body };
  const { status, text, json } = await server.call<{ id: string }>("POST", "/v1/requests", call);
  assert.equal(status, 201, text);
  if (requirement !== undefined) {
    await require(server.provider.context.store, json.id, requirement);
  }
  return json.id;
}

let requested = 0;

/** A pending call with a requirement; another one each time, so that none is asked again. */
export async function submitAsked(
  scene: ConsoleScene,
  requirement: Partial<Requirement> = {},
  { timeout }: Pick<SubmitTextOptions, "timeout"> = {},
): Promise<{ readonly id: string; readonly deadline_at: string }> {
  const args = `{"env":"prod","run":${++requested}}`;
  const id = await submitText(scene, args, {
    requirement,
    ...(timeout !== undefined && { timeout }),
  });
  const { deadline_at } = await scene.server.read(scene.instance.token, id);
  return { id, deadline_at };
}

export async function openRequest(page: Page, id: string): Promise<void> {
  await page.goto(`/inbox/${id}`);
  await page.locator("#tool").waitFor();
}

export async function untilEnabled(page: Page): Promise<void> {
  await page.locator("#approve:enabled").waitFor();
}

/** Until neither button can be pressed, or none is left. */
export async function untilDisabled(page: Page): Promise<void> {
  await page.locator("#decide:not(:has(#deny:enabled))").waitFor();
  assert.equal(await page.locator("#approve:enabled").count(), 0);
}

/** How long the effect of a key may take: one that came too early is pressed again. */
const EFFECT_MS = 5_000;

/** Presses a key when single keys act, again where the page had just moved. */
export async function pressUntil(page: Page, key: string, selector: string): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while ((await page.locator(selector).count()) === 0) {
    assert.ok(performance.now() < end, `${key} has not led to ${selector}`);
    await page.locator("#decide[data-keys=ready]").waitFor();
    await page.keyboard.press(key);
    await page
      .locator(selector)
      .first()
      .waitFor({ timeout: EFFECT_MS })
      .catch(() => undefined);
  }
}

/** Lets time pass until the request has ended; the workers may have to see it come first. */
export async function untilDecided(
  { server, clock, instance }: ConsoleScene,
  id: string,
  ms: number,
): Promise<void> {
  clock.advance(ms);
  await until(async () => {
    clock.advance(0);
    return (await server.read(instance.token, id)).status !== "pending";
  }, "the request ends");
}

/** Presses Approve and lets the time pass in which it could be undone. */
export async function approveOn(scene: ConsoleScene, page: Page): Promise<void> {
  await page.locator("#approve:enabled").click();
  await untilGiven(scene, page);
}

/** Lets the time pass in which what the page holds could be undone. */
export async function untilGiven({ server, clock }: ConsoleScene, page: Page): Promise<void> {
  const { store } = server.provider.context;
  await page.locator("#held").waitFor();
  clock.advance(HOLD_MS);
  await until(async () => {
    // The worker may have to see it come first.
    clock.advance(0);
    return (await store.get("select request_id from delayed_verdict limit 1")) === undefined;
  }, "the approval counts");
}

export async function denyWith(page: Page, reason: string): Promise<void> {
  await page.locator("#deny:enabled").click();
  await page.locator("#reason").fill(reason);
  await page.locator("#send-denial:enabled").click();
}
