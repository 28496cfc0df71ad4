import assert from "node:assert/strict";
import { test } from "node:test";
import { ReviewUrls, readReviewUrl } from "./review-urls.ts";

const REQUESTS = "https://approvals.example/base/v1/requests";

test("the page of a request is the link with the relation alternate and the type text/html", () => {
  const cases: [string | null, string | undefined][] = [
    ['<../inbox/1>; rel="alternate"; type="text/html"', "https://approvals.example/base/inbox/1"],
    ["<https://c.example/1>; rel=alternate; type=text/html", "https://c.example/1"],
    ['</a>; rel="next", </b>; type="text/html"; rel="alternate"', "https://approvals.example/b"],
    ['<../inbox/1>; rel="alternate"', undefined],
    ['<../inbox/1>; rel="alternate"; type="application/json"', undefined],
    ['<javascript:alert(1)>; rel="alternate"; type="text/html"', undefined],
    ['<http://[>; rel="alternate"; type="text/html"', undefined],
    [`<https://c.example/${"x".repeat(2_000)}>; rel="alternate"; type="text/html"`, undefined],
    ["", undefined],
    [null, undefined],
  ];
  for (const [header, url] of cases)
    assert.equal(readReviewUrl(header, REQUESTS), url, `${header}`);
});

test("the pages of the latest 1,000 requests are kept", () => {
  const urls = new ReviewUrls();
  for (let i = 0; i < 1_001; i++) {
    const link = `</${i}>; rel="alternate"; type="text/html"`;
    urls.note(String(i), link, REQUESTS);
  }
  assert.equal(urls.of("0"), undefined);
  assert.equal(urls.of("1"), "https://approvals.example/1");
  assert.equal(urls.of("1000"), "https://approvals.example/1000");
});
