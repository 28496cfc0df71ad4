import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { routesOf } from "./support/routes.ts";
import { startTestProvider } from "./support/test-provider.ts";

const ID = "01890a5d-ac96-774b-bcce-b302099a8057";

/** Opened by a browser on its way from an identity provider, which adds parameters of its own. */
const CALLBACK = "/review/v1/session/oidc/callback";

test("[ours.review.parameters] a misspelled history filter returns an error with its name and the known filters", async (t) => {
  const server = await startTestProvider(t);
  const token = await server.token({ kind: "reviewer" });
  const answer = await server.call("GET", "/review/v1/history?statsu=denied&limit=5", { token });
  assertRefused(answer, 400, "invalid_request", "statsu");
  assert.match(
    answer.text,
    /Unknown query parameter statsu\. Known here: limit, .*before, .*status/,
  );
  const known = await server.call("GET", "/review/v1/history?status=denied&limit=5", { token });
  assert.equal(known.status, 200);
});

test("[ours.review.parameters] every GET of the reviewer surface refuses an unknown parameter, after the credential", async (t) => {
  const server = await startTestProvider(t);
  const token = await server.token({ kind: "reviewer", role: "admin" });
  const routes = (await routesOf(server)).filter(
    ({ method, path }) => method === "GET" && path.startsWith("/review/v1/") && path !== CALLBACK,
  );
  assert.ok(routes.length > 25, String(routes.length));
  for (const { path } of routes) {
    const url = `${path.replace(/:\w+/g, ID)}?nothing_is_called_this=1`;
    const { status, text } = await server.call("GET", url, { token });
    const isPersonal = status === 403 || status === 401;
    if (!isPersonal) assert.match(text, /Unknown query parameter nothing_is_called_this\./, path);
    const outsider = await server.call("GET", url);
    assert.ok(outsider.status !== 400 || /oidc|sign-in|ways|openapi/.test(path), path);
  }
});

test("[ours.review.parameters] an unknown parameter of a contract route changes nothing", async (t) => {
  const server = await startTestProvider(t);
  const { token } = await server.instance();
  const { id } = await server.submit(token);
  assert.equal((await server.read(token, id, "?from=here")).id, id);
});
