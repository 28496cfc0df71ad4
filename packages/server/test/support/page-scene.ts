/**
 * People in browsers of their own, on a server with an instance that asks: what tests of the pages
 * for deciding begin with.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { updatePasswordHash } from "../../src/storage/sql/people/people.ts";
import { newVisitor, type Visitor, type VisitorOptions } from "./browser.ts";
import { newPerson, type PersonOrder } from "./people.ts";
import type { TestProvider } from "./test-provider.ts";

export const PASSWORD = "seven grey herons wait";

/** To inspect a run: a folder in SCREENSHOTS gets a picture of each step. */
const { SCREENSHOTS } = process.env;

export async function picture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
}

/** Made once: it is work. */
let passwordHash: string | undefined;

/** A user with a password, not signed in. */
export async function newSignedInPerson(
  server: TestProvider,
  login: string,
  order: Partial<PersonOrder> = {},
): Promise<void> {
  passwordHash ??= await server.provider.context.passwords.hash(PASSWORD);
  const hash = passwordHash;
  const bind: PersonOrder["bind"] = (tx, { id }) => updatePasswordHash(tx, id, hash);
  await newPerson(server, { login, bind, ...order });
}

/** Signs in on the page that asks for it. */
export async function signIn(page: Page, login: string): Promise<void> {
  await page.getByLabel("Login", { exact: true }).fill(login);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await press(page, "Sign in");
}

/** A new person's browser, with a session in it that a password began. */
export async function visit(
  browser: Browser,
  server: TestProvider,
  login: string,
  { role, ...options }: VisitorOptions & Partial<Pick<PersonOrder, "role">> = {},
): Promise<Visitor> {
  await newSignedInPerson(server, login, role === undefined ? {} : { role });
  const visitor = await newVisitor(browser, server.provider.publicUrl, options);
  await visitor.page.goto("/sign-in");
  await signIn(visitor.page, login);
  // On a wide window a request opens at once.
  await visitor.page.waitForURL(/\/inbox(?:[/?]|$)/);
  return visitor;
}
