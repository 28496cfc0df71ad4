/**
 * The context of operations, on a real store in a folder of its own, without a server: for tests
 * of one room by itself.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../src/clock.ts";
import { readConfig } from "../../src/config/read-config.ts";
import { toSecrets, toSettings } from "../../src/config/settings.ts";
import type { Context } from "../../src/context.ts";
import { open } from "../../src/open-context.ts";
import type { Store } from "../../src/storage/store.ts";
import { databaseSettings } from "./engine.ts";
import type { Lifetime } from "./test-provider.ts";

/** Closed, and its folder gone, with the test. */
export async function openTestContext(t: Lifetime, clock: Clock): Promise<Context> {
  const directory = mkdtempSync(join(tmpdir(), "countersign-context-"));
  const database = await databaseSettings(directory);
  const config = readConfig({ data: directory, ...database, log_level: "silent" }, {});
  const { context, close } = await open(toSettings(config), toSecrets(config), { clock }, "server");
  t.after(async () => {
    await close();
    rmSync(directory, { recursive: true });
  });
  return context;
}

/** The same context on a store that does some things otherwise. */
export function withStore(context: Context, otherwise: Partial<Store>): Context {
  const store = new Proxy(context.store, {
    get(target, name) {
      const value = Reflect.get(otherwise, name) ?? Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { ...context, store };
}
