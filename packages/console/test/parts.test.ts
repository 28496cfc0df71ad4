// Needs: browser
/**
 * Parts that need no browser: times in words, and pages of a long list.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type CursorPage, CursorPages } from "../src/parts/cursor-pages.ts";
import { durationWords, relativeTime } from "../src/parts/time-words.ts";

const NOW = Date.parse("2026-06-15T12:00:00Z");
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test("a time is shown as a distance, and beyond a day as a date", () => {
  const reported = (at: number) => relativeTime(at, NOW);
  assert.deepEqual(
    [0, -1_999, -2_000, -59_999, -MINUTE_MS, -HOUR_MS + 1, -HOUR_MS, 5 * MINUTE_MS].map((ms) =>
      reported(NOW + ms),
    ),
    [
      "just now",
      "just now",
      "2 s ago",
      "59 s ago",
      "1 min ago",
      "59 min ago",
      "1 h ago",
      "in 5 min",
    ],
  );
  assert.equal(reported(NOW - 23 * HOUR_MS - 59 * MINUTE_MS), "23 h ago");
  assert.match(reported(NOW - 24 * HOUR_MS), /^14 Jun, \d\d:00$/);
  assert.match(reported(NOW - 365 * 24 * HOUR_MS), /^15 Jun 2025$/);
});

test("a duration is shown in two units at most", () => {
  assert.deepEqual(
    [0, 840, 1_999, 41_200, 59_700, 200_000, 7_500_000, 99 * HOUR_MS].map(durationWords),
    ["0 s", "0.8 s", "2 s", "41 s", "1 min", "3 min 20 s", "2 h 5 min", "4 d 3 h"],
  );
});

type Answer = (after: string | undefined) => CursorPage<number>;

/** Pages over a list of numbers, and what was asked for. */
function pagesOver(answer: Answer): {
  pages: CursorPages<number>;
  requested: (string | undefined)[];
} {
  const requested: (string | undefined)[] = [];
  const pages = new CursorPages<number>(async (after) => {
    requested.push(after);
    return answer(after);
  });
  return { pages, requested };
}

/** Asks for places until nothing more is on its way. */
async function settle(pages: CursorPages<number>, first: number, last: number): Promise<void> {
  for (let before = -1; before !== pages.version.value; ) {
    before = pages.version.value;
    pages.want(first, last);
    while (pages.isLoading) await new Promise(setImmediate);
  }
}

/** A hundred numbers a page. */
const counting =
  (size: number): Answer =>
  (after) => {
    const from = Number(after ?? 0);
    const to = Math.min(from + 100, size);
    const items = Array.from({ length: to - from }, (_, i) => from + i);
    return { items, next: to < size ? String(to) : null };
  };

test("a list far down holds what is near, and asks again for what it has forgotten", async () => {
  const { pages, requested } = pagesOver(counting(10_050));
  for (let at = 0; at < 10_050; at += 50) await settle(pages, at, at + 30);
  assert.deepEqual([pages.count, pages.isComplete], [10_050, true]);
  assert.equal(requested.length, 101, "each page once");
  assert.equal(pages.itemAt(10_049), 10_049);
  assert.equal(pages.itemAt(50), 50, "the first page has no cursor and stays");
  assert.equal(pages.itemAt(4_321), undefined);
  await settle(pages, 4_310, 4_340);
  assert.equal(pages.itemAt(4_321), 4_321);
  assert.equal(requested.at(-1), "4300");
  assert.equal(pages.itemAt(10_049), undefined);
});

test("empty pages are skipped, and loading pauses after five of them", async () => {
  const { pages, requested } = pagesOver((after) => {
    const at = Number(after ?? 0);
    return { items: at === 12 ? [1] : [], next: at === 12 ? null : String(at + 1) };
  });
  await settle(pages, 0, 20);
  assert.deepEqual([requested.length, pages.isResting, pages.isComplete], [5, true, false]);
  pages.loadMore();
  await settle(pages, 0, 20);
  pages.loadMore();
  await settle(pages, 0, 20);
  assert.deepEqual([pages.count, pages.isComplete, pages.itemAt(0)], [1, true, 1]);
});

test("a page that failed to load is reported, and loaded again only on demand", async () => {
  let isBroken = true;
  const answer = counting(150);
  const { pages, requested } = pagesOver((after) => {
    if (isBroken && after !== undefined) throw new Error("broken");
    return answer(after);
  });
  await settle(pages, 0, 90);
  assert.deepEqual([pages.count, requested.length], [100, 2]);
  assert.match(String(pages.error), /broken/);
  isBroken = false;
  await settle(pages, 0, 90);
  assert.equal(requested.length, 2);
  pages.retry();
  await settle(pages, 0, 90);
  assert.deepEqual([pages.count, pages.isComplete, pages.error], [150, true, undefined]);
});
