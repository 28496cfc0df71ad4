import assert from "node:assert/strict";
import { test } from "node:test";
import { fastify } from "fastify";
import { assertSameOrigin } from "./same-origin.ts";
import {
  clearSessionCookie,
  cookieNamed,
  sessionCookie,
  setSessionCookie,
} from "./session-cookie.ts";

const NAME = "__Host-countersign";

function read(cookie?: string): string | undefined {
  return sessionCookie({ headers: cookie === undefined ? {} : { cookie } });
}

test("[ours.sign-in.cookie] the session cookie is found by its full name, at any position in the header", () => {
  for (const cookie of [`${NAME}=v`, `a=b; ${NAME}=v; c=d`, `${NAME}=v ;a=b`, `a; ${NAME} = v`]) {
    assert.equal(read(cookie), "v", cookie);
  }
  assert.equal(read(`${NAME}=v=w`), "v=w", "all behind the first sign");
  assert.equal(read(`${NAME}=`), "");
  for (const cookie of [
    "",
    NAME,
    `x${NAME}=v`,
    `${NAME}x=v`,
    `${NAME.toLowerCase()}=v`,
    `a=${NAME}=v`,
    "=v",
    `=${NAME}`,
    "a=b",
  ]) {
    assert.equal(read(cookie), undefined, cookie);
  }
  assert.equal(read(), undefined);
  assert.equal(
    cookieNamed("", { headers: { cookie: "=v" } }),
    undefined,
    "an empty name matches no cookie",
  );
});

test("[ours.sign-in.cookie] two cookies of the name are ignored, also equal ones", () => {
  for (const cookie of [`${NAME}=v; ${NAME}=w`, `${NAME}=v; a=b; ${NAME}=v`]) {
    assert.equal(read(cookie), "", cookie);
  }
});

test("[ours.sign-in.cookie] the cookie is for this host alone, out of reach of scripts, and lasts as long as its session", async () => {
  const app = fastify();
  app.get("/begin", async (_, reply) => {
    setSessionCookie(reply, "value");
    return {};
  });
  app.get("/end", async (_, reply) => {
    clearSessionCookie(reply);
    return {};
  });
  const set = async (url: string) => (await app.inject({ url })).headers["set-cookie"];
  const attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";
  assert.equal(await set("/begin"), `${NAME}=value; Max-Age=43200; ${attributes}`);
  assert.equal(await set("/end"), `${NAME}=; Max-Age=0; ${attributes}`);
});

const OURS = "https://approvals.test";

test("[ours.sign-in.cross-origin] a change requires the server's origin, as the browser reports it", () => {
  const passes = (method: string, headers: Readonly<Record<string, string>>) =>
    assertSameOrigin({ method, headers }, OURS);
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "post"]) {
    passes(method, { "sec-fetch-site": "same-origin" });
    passes(method, { origin: OURS });
    passes(method, { "sec-fetch-site": "same-origin", origin: "https://proxied.test" });
    for (const headers of [
      {},
      ...["cross-site", "same-site", "none", "", "SAME-ORIGIN"].flatMap((site) => [
        { "sec-fetch-site": site },
        { "sec-fetch-site": site, origin: OURS },
      ]),
      ...["null", "", `${OURS}:8443`, `${OURS}.other.test`, "http://approvals.test"].map(
        (origin) => ({ origin }),
      ),
    ]) {
      assert.throws(() => passes(method, headers), { code: "cross_origin", status: 403 });
    }
  }
});

test("[ours.sign-in.cross-origin] a read may come from any origin", () => {
  for (const method of ["GET", "HEAD", "OPTIONS"]) {
    assertSameOrigin({ method, headers: { "sec-fetch-site": "cross-site" } }, OURS);
  }
});
