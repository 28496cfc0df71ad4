/**
 * The routes that a server really has, for tests that go through all of them.
 */

import { createHttpServer } from "../../src/http/create-http-server.ts";
import { Report } from "../../src/index.ts";
import { addRoutes } from "../../src/provider.ts";
import type { TestProvider } from "./test-provider.ts";

export interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: string;
}

/** Those that Fastify has. */
export async function routesOf({
  provider: { context },
}: Pick<TestProvider, "provider">): Promise<readonly Route[]> {
  const report = new Report("silent", { write: () => {} });
  const app = createHttpServer(context.settings, report);
  const routes: Route[] = [];
  app.addHook("onRoute", ({ method, url, config }) => {
    for (const each of [method].flat()) {
      routes.push({ method: each, path: url, operation: config?.operation ?? "" });
    }
  });
  addRoutes(app, context, report, {
    accepting: () => true,
    publicUrl: () => "http://localhost",
    consoleFolder: undefined,
  });
  await app.ready();
  await app.close();
  return routes;
}
