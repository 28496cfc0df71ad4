/**
 * Every operation against every kind of caller. The permitted callers come from the table of the
 * reviewer API (support/authorization-table.ts), and the routes from a running server. A change of
 * a permission in the table changes docs/reference/review-api.md.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setAuthorizationStage, setCallers } from "./support/authorization-callers.ts";
import {
  type AuthorizationRow,
  CALLERS,
  type CallerName,
  expectedStatus,
} from "./support/authorization-profiles.ts";
import { ROWS } from "./support/authorization-table.ts";
import { startExtended } from "./support/extensions.ts";
import { type Route, routesOf } from "./support/routes.ts";
import type { Answer } from "./support/test-provider.ts";

const scene = await startExtended({ after });
const { server } = scene;
const callers = await setCallers(scene);
const stage = await setAuthorizationStage(scene);

/** Routes of identity providers, with tokens of their own. */
const SCIM = "/scim/v2/";

const all = await routesOf(server);
const routes = all.filter(({ path }) => !path.startsWith(SCIM));

function titleOf({ operation, about }: AuthorizationRow): string {
  return about === undefined ? operation : `${operation}, ${about}`;
}

/** The route of a row: with a parameter when the row says what to put there. */
function routesOfRow({ operation, id }: AuthorizationRow): readonly Route[] {
  return routes.filter(
    (route) => route.operation === operation && route.path.includes("/:") === (id !== undefined),
  );
}

async function call(row: AuthorizationRow, route: Route, caller: CallerName): Promise<Answer> {
  const id = (await row.id?.(stage)) ?? "";
  const path = route.path.replace(/:(id|number|passkey|agent)/, id) + (row.query ?? "");
  const authorization = callers.header(caller, row.credential);
  const body = row.body?.(stage);
  return server.call(route.method, path, {
    key: server.freshKey(),
    headers: authorization === undefined ? {} : { authorization },
    ...(body !== undefined && { body }),
  });
}

test("[ours.authorization.table] every route has a row in the authorization table, and every row has one route", () => {
  for (const route of routes) {
    const rows = ROWS.filter((row) => routesOfRow(row).includes(route));
    assert.notEqual(rows.length, 0, `${route.method} ${route.path} (${route.operation})`);
  }
  for (const row of ROWS) assert.equal(routesOfRow(row).length, 1, titleOf(row));
  assert.ok(routes.length > 40, String(routes.length));
});

for (const row of ROWS) {
  const reached =
    row.who.length === CALLERS.length ? "every caller" : `only ${row.who.length} callers`;
  test(`[ours.authorization.table] ${titleOf(row)} permits ${reached}`, async () => {
    const [route] = routesOfRow(row);
    assert.ok(route, "the row has no route");
    const wrong: string[] = [];
    for (const caller of CALLERS) {
      const { status, text } = await call(row, route, caller);
      await row.undo?.(stage);
      const expected = expectedStatus(row, caller);
      if (status !== expected) wrong.push(`${caller}: ${status}, not ${expected}: ${text}`);
    }
    assert.deepEqual(wrong, []);
  });
}

test("[ours.scim.token] every route of SCIM rejects every caller without a SCIM token", async () => {
  const scim = all.filter(({ path }) => path.startsWith(SCIM));
  assert.ok(scim.length > 20, String(scim.length));
  const wrong: string[] = [];
  for (const { method, path } of scim) {
    for (const caller of CALLERS) {
      const authorization = callers.header(caller, "reviewer");
      const response = await fetch(server.url + path.replace(":id", stage.bystanderId), {
        method,
        headers: authorization === undefined ? {} : { authorization },
      });
      if (response.status !== 401) wrong.push(`${caller}: ${method} ${path}: ${response.status}`);
    }
  }
  assert.deepEqual(wrong, []);
});
