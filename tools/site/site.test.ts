/** The parts of the documentation site that need no build. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { loadedFromElsewhere } from "./check-built-site.ts";
import { httpPages } from "./http-pages.ts";
import { firstSentence, listOfPages } from "./language-model-files.ts";
import { OpenApiDocument } from "./openapi-document.ts";
import { sidebarOf } from "./sidebar.ts";
import { readSitePages, replaceLinks, routeOf } from "./site-pages.ts";

const ROOT = join(import.meta.dirname, "../..");

test("site: a relative link outside of code is replaced, every other link is unchanged", () => {
  const markdown = [
    "[a `b`](x.md#y) and [z](https://example.com) and `[c](d.md)`",
    "```md",
    "[e](f.md)",
    "```",
    '[![g](h.png)](i.md) <img src="j.png">',
  ].join("\n");
  const replaced = replaceLinks(markdown, (target) => `/${target}`);
  assert.equal(
    replaced,
    [
      "[a `b`](/x.md#y) and [z](https://example.com) and `[c](d.md)`",
      "```md",
      "[e](f.md)",
      "```",
      '[![g](/h.png)](/i.md) <img src="/j.png">',
    ].join("\n"),
  );
});

test("site: every link of every page has a target that the site shows", () => {
  const { pages, unresolved } = readSitePages(ROOT);
  assert.deepEqual(unresolved, []);
  const routes = pages.map(({ route }) => route);
  assert.equal(new Set(routes).size, routes.length, "two pages have the same route");
  assert.ok(routes.includes("index"));
});

test("site: links in HTML contain the base of the site", () => {
  const index = httpPages(ROOT, "/countersign/").find(({ route }) => route.endsWith("/index"));
  const links = [...(index?.text ?? "").matchAll(/<a href="([^"]*)"/g)].map(([, link]) => link);
  const names = ["openapi.yaml", "extensions.yaml", "review.openapi.yaml"];
  assert.deepEqual(
    links,
    names.map((name) => `/countersign/repository/contract/${name}`),
  );
});

test("site: a linked source file gets a route without an extension", () => {
  assert.equal(routeOf("docs/guides/policy.md"), "guides/policy");
  assert.equal(routeOf("examples/x/receiver.mjs"), "repository/examples/x/receiver-mjs");
  assert.equal(routeOf("deploy/README.md"), "repository/deploy/readme");
});

test("site: the navigation lists named pages first, then the others by title", () => {
  const pages = [
    { route: "guides/c", title: "C" },
    { route: "guides/b", title: "B" },
    { route: "guides/a", title: "A" },
  ];
  const [guides] = sidebarOf(pages, ["guides/removed", "guides/b"]);
  assert.deepEqual(
    guides?.items?.map(({ link }) => link),
    ["/guides/b", "/guides/a", "/guides/c"],
  );
});

test("site: the pages of the HTTP API contain every operation of the three descriptions", () => {
  const text = httpPages(ROOT)
    .map((page) => page.text)
    .join("\n");
  for (const name of ["openapi.yaml", "extensions.yaml", "review.openapi.yaml"]) {
    const operations = new OpenApiDocument(join(ROOT, "contract", name)).operations();
    assert.ok(operations.length > 0, name);
    for (const { method, path, isWebhook } of operations) {
      const line = isWebhook ? `${method} to the receiver's URL: ${path}` : `${method} ${path}`;
      assert.ok(text.includes(`\n${line}\n`), line);
    }
  }
});

test("site: a page that loads from another host is a fault, a link to it is not", () => {
  const count = (name: string, text: string) => loadedFromElsewhere(name, text).length;
  assert.equal(count("a.html", '<a href="https://example.com">x</a><img src="/b.png">'), 0);
  assert.equal(count("a.html", '<img src="https://example.com/b.png">'), 1);
  assert.equal(count("a.html", '<script src="//example.com/b.js"></script>'), 1);
  assert.equal(count("a.html", '<link rel="preconnect" href="https://example.com">'), 1);
  assert.equal(count("a.css", '@import "https://example.com/b.css";'), 1);
  assert.equal(count("a.css", "a { background: url(https://example.com/b.png) }"), 1);
});

test("site: llms.txt lists each page with its first sentence", () => {
  const text = "# Title\n\n<!-- Made. -->\n\nOne [link](/x) here. Another sentence.\n";
  assert.equal(firstSentence(text), "One link here.");
  const list = listOfPages([{ route: "guides/x", title: "Title", text }]);
  assert.match(list, /## How-to guides\n\n- \[Title\]\(\/guides\/x\.md\): One link here\.\n/);
});
