import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after });

/** The addresses that a page loads at once. */
async function addressesOn(path: string): Promise<string[]> {
  const response = await fetch(server.url + path, { headers: { accept: "text/html" } });
  const html = await response.text();
  return [...html.matchAll(/(?:src|href)="([^"]*assets[^"]*)"/g)].map(
    ([, address = ""]) => new URL(address, response.url).href,
  );
}

/** As a browser revalidates; `fetch` would add `cache-control: no-cache`. */
async function revalidate(address: string, etag: string): Promise<IncomingMessage> {
  const [response] = await once(get(address, { headers: { "if-none-match": etag } }), "response");
  return response;
}

const TYPES: Readonly<Record<string, RegExp>> = {
  js: /^(text|application)\/javascript; charset=utf-8$/i,
  css: /^text\/css; charset=utf-8$/i,
  svg: /^image\/svg\+xml$/,
};

test("[ours.sign-in.pages] each file of a page has its type, may be cached for ever and returns 304 for its ETag", async () => {
  for (const path of [
    "/sign-in",
    "/invitation",
    "/inbox",
    "/inbox/one",
    "/p/0/inbox",
    "/p/0/inbox/one",
  ]) {
    const addresses = await addressesOn(path);
    assert.ok(addresses.length > 5, path);
    for (const address of addresses) {
      const { status, headers } = await fetch(address);
      assert.equal(status, 200, address);
      const type = TYPES[address.split(".").at(-1) ?? ""];
      assert.match(headers.get("content-type") ?? "", type ?? /^$/, address);
      assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable");
      const etag = headers.get("etag") ?? "";
      const again = await revalidate(address, etag);
      assert.equal(again.statusCode, 304, address);
      assert.equal(await text(again), "");
    }
  }
});

test("[ours.sign-in.pages] an unknown page of a project is the page of the console with 404", async () => {
  for (const path of ["/p/0/none", "/p/0/none/one", "/p/0", "/p/0/inbox/one/more"]) {
    const response = await fetch(server.url + path, { headers: { accept: "text/html" } });
    assert.equal(response.status, 404, path);
    for (const address of await addressesOn(path)) {
      assert.equal((await fetch(address)).status, 200, address);
    }
  }
});

test("[ours.sign-in.pages] the files that the sign-in page loads have less than 64 KB together", async () => {
  const files = await Promise.all(
    (await addressesOn("/sign-in")).map(async (address) => (await fetch(address)).arrayBuffer()),
  );
  const bytes = files.reduce((sum, { byteLength }) => sum + byteLength, 0);
  assert.ok(bytes > 10_000 && bytes < 64_000, `${bytes} bytes`);
});

test("[ours.sign-in.pages] the service worker and the manifest are revalidated at each use", async () => {
  for (const [path, type] of [
    ["/sw.js", /javascript/],
    ["/manifest.webmanifest", /^application\/manifest\+json/],
    ["/icon-192.png", /^image\/png$/],
  ] as const) {
    const { status, headers } = await fetch(server.url + path);
    assert.equal(status, 200, path);
    assert.equal(headers.get("cache-control"), "no-cache");
    assert.match(headers.get("content-type") ?? "", type);
  }
});

test("[ours.sign-in.pages] the page of a failed sign-in shows the error as text and runs no script", async () => {
  const { status, headers } = await fetch(`${server.url}/review/v1/session/oidc?return_to=//x`, {
    headers: { accept: "text/html" },
  });
  assert.equal(status, 400);
  assert.doesNotMatch(headers.get("content-security-policy") ?? "", /script-src/);
  assert.equal(headers.get("cache-control"), "no-store");
});
