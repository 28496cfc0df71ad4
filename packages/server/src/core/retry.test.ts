import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Failed, nextAttemptAt, parseRetryAfter, RETRY_WINDOW_MS } from "./retry.ts";

const DECIDED = Date.UTC(2026, 0, 1);
const END = DECIDED + 168 * 3_600_000;
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const CHANCE_MAX = 1 - 2 ** -53;
const MINUTE = 60_000;
const HOUR = 3_600_000;

function failed(change: Partial<Failed> = {}): Failed {
  const retryAfterMs = undefined;
  return { attempts: 1, decidedAt: DECIDED, now: DECIDED, retryAfterMs, chance: 0, ...change };
}

/** How long is waited after this failure. */
function waitAfter(change: Partial<Failed>): number {
  const failure = failed(change);
  return nextAttemptAt(failure) - failure.now;
}

test("[event.retry.retry-after] Retry-After is read as seconds of any number of digits", () => {
  assert.equal(parseRetryAfter("120", NOW), 120_000);
  assert.equal(parseRetryAfter("1", NOW), 1_000);
  assert.equal(parseRetryAfter("007", NOW), 7_000);
  for (const digits of ["999999999", "1000000000", "9".repeat(400)]) {
    assert.equal(parseRetryAfter(digits, NOW), 999_999_999_000);
  }
});

test("[event.retry.retry-after] Retry-After is read as a date in the form that RFC 9110 prefers", () => {
  assert.equal(parseRetryAfter("Fri, 02 Jan 2026 03:04:06 GMT", NOW), 1_000);
  assert.equal(parseRetryAfter("Fri, 02 Jan 2026 03:04:06 GMT", NOW - 250), 1_250);
  assert.equal(parseRetryAfter("Sat, 03 Jan 2026 03:04:05 GMT", NOW), 24 * HOUR);
  assert.equal(parseRetryAfter("Tue, 29 Feb 2028 23:59:59 GMT", Date.UTC(2028, 1, 29)), 86_399_000);
  assert.equal(parseRetryAfter("Fri, 02 Jan 2026 23:59:60 GMT", Date.UTC(2026, 0, 3) - 1), 1);
});

test("[event.retry.retry-after] Retry-After is read as a date in the two obsolete forms", () => {
  for (const text of ["Friday, 02-Jan-26 03:04:06 GMT", "Fri Jan  2 03:04:06 2026"]) {
    assert.equal(parseRetryAfter(text, NOW), 1_000, text);
  }
  assert.equal(parseRetryAfter("Sat Jan 10 03:04:05 2026", NOW), 8 * 24 * HOUR);
  assert.equal(parseRetryAfter("Wednesday, 07-Jan-26 03:04:05 GMT", NOW), 5 * 24 * HOUR);
  // At most 50 years ahead; 77 is the past, in which 1 January was a Saturday.
  const ahead = Date.UTC(2076, 0, 1) - NOW;
  assert.equal(parseRetryAfter("Wednesday, 01-Jan-76 00:00:00 GMT", NOW), ahead);
  assert.equal(parseRetryAfter("Friday, 01-Jan-77 00:00:00 GMT", NOW), undefined);
  assert.equal(parseRetryAfter("Saturday, 01-Jan-77 00:00:00 GMT", NOW), undefined);
  assert.equal(
    parseRetryAfter("Saturday, 01-Jan-77 00:00:00 GMT", Date.UTC(1976, 11, 31)),
    24 * HOUR,
  );
});

test("[event.retry.retry-after] an absent, zero or past Retry-After is ignored", () => {
  assert.equal(parseRetryAfter(undefined, NOW), undefined);
  assert.equal(parseRetryAfter("0", NOW), undefined);
  assert.equal(parseRetryAfter("Fri, 02 Jan 2026 03:04:05 GMT", NOW), undefined);
  assert.equal(parseRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT", NOW), undefined);
});

test("[event.retry.retry-after] a malformed Retry-After is ignored", () => {
  const malformed = [
    "",
    " ",
    "soon",
    "-5",
    "+5",
    "5.0",
    "1e3",
    "0x10",
    "5s",
    "5, 6",
    " 5",
    "5 ",
    "5\n",
    "１２０",
    "Infinity",
    "NaN",
    "٣",
    "Fri, 02-Jan-26 03:04:06 GMT",
    "Friday, 2-Jan-26 03:04:06 GMT",
    "Friday, 02-Jan-2026 03:04:06 GMT",
    "Thursday, 02-Jan-26 03:04:06 GMT",
    "Friday, 02-Jan-26 03:04:06",
    "Fri Jan 2 03:04:06 2026",
    "Fri Jan 02 03:04:06 2026 GMT",
    "Thu Jan  2 03:04:06 2026",
    "Fri Jan  2 03:04:06 26",
    "2026-01-02T03:04:06Z",
    "Thu, 02 Jan 2026 03:04:06 GMT",
    "Sat, 31 Feb 2026 03:04:06 GMT",
    "Tue, 03 Mar 2026 24:00:00 GMT",
    "Tue, 03 Mar 2026 03:04:60 GMT",
    "Tue, 03 Mar 2026 22:59:60 GMT",
    "Tue, 03 Mar 2026 23:60:00 GMT",
    "Tue, 3 Mar 2026 03:04:06 GMT",
    "Tue, 00 Mar 2026 03:04:06 GMT",
    "tue, 03 mar 2026 03:04:06 gmt",
    "Tue, 03 Mar 2026 03:04:06 UTC",
    "Tue, 03 Mar 2026 03:04:06 +0000",
    "Tue, 03 Mar 2026 03:04:06",
    "Tue, 03 Mar 2026 03:04:06.5 GMT",
    "Tue, 03 Mar 2026 03:04:06 GMT ",
    "Tue, 03 Mar 2026 03:04:06 GMT\n",
    "Tue,  03 Mar 2026 03:04:06 GMT",
    "Tue, 03 Mar 12026 03:04:06 GMT",
    "Tue, 03 Mar 0026 03:04:06 GMT",
  ];
  for (const text of malformed) {
    assert.equal(parseRetryAfter(text, NOW), undefined, JSON.stringify(text));
    assert.equal(parseRetryAfter(text, 0), undefined, JSON.stringify(text));
  }
});

test("[event.retry.retry-after] every date that is written in the preferred form is read back", () => {
  // From the year 1000 on, and no further than four digits of a year go.
  const seconds = fc.integer({ min: -30_610_224_000, max: 253_402_300_799 });
  const property = fc.property(seconds, fc.integer({ min: 0, max: 1e12 }), (at, waitMs) => {
    const wanted = parseRetryAfter(new Date(at * 1000).toUTCString(), at * 1000 - waitMs);
    assert.equal(wanted, waitMs > 0 ? waitMs : undefined);
  });
  fc.assert(property);
});

test("[event.retry.retry-after] any header value results in a positive wait or none", () => {
  const piece = fc.constantFrom("Fri", ", ", "02", " ", "Jan", "2026", ":", "GMT", "-", "9", "٣");
  const text = fc.oneof(
    fc.string(),
    fc.array(piece).map((pieces) => pieces.join("")),
  );
  const property = fc.property(text, (text) => {
    const wanted = parseRetryAfter(text, NOW);
    assert.ok(wanted === undefined || (Number.isInteger(wanted) && wanted > 0));
  });
  fc.assert(property);
});

test("[event.retry.backoff] the step doubles from 5 s to 1 h, and half of it is left to chance", () => {
  const steps = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600].map((s) => s * 1000);
  for (const [index, step] of steps.entries()) {
    const attempts = index + 1;
    assert.equal(waitAfter({ attempts, chance: 0 }), step / 2);
    assert.equal(waitAfter({ attempts, chance: 0.5 }), step * 0.75);
    assert.equal(waitAfter({ attempts, chance: CHANCE_MAX }), step);
  }
});

test("[event.retry.backoff] ten thousand attempts do not overflow", () => {
  assert.equal(waitAfter({ attempts: 10_000, chance: 0 }), HOUR / 2);
  assert.equal(waitAfter({ attempts: 10_000, chance: CHANCE_MAX }), HOUR);
});

test("[event.retry.retry-after] the wait is at least the receiver's Retry-After, plus up to a tenth", () => {
  assert.equal(waitAfter({ retryAfterMs: 2 * HOUR, chance: 0 }), 2 * HOUR);
  assert.equal(waitAfter({ retryAfterMs: 2 * HOUR, chance: CHANCE_MAX }), 7_920_000);
  assert.equal(waitAfter({ attempts: 12, retryAfterMs: 1_000, chance: 0 }), HOUR / 2);
  assert.equal(waitAfter({ attempts: 12, retryAfterMs: 1_000, chance: 0.5 }), HOUR * 0.7875);
});

test("[event.retry.retry-after] a Retry-After beyond the window ends the delivery at the end of the window", () => {
  for (const chance of [0, 0.5, CHANCE_MAX]) {
    assert.equal(nextAttemptAt(failed({ retryAfterMs: 400 * HOUR, chance })), END);
    assert.equal(nextAttemptAt(failed({ retryAfterMs: 999_999_999_000, chance })), END);
    assert.equal(nextAttemptAt(failed({ retryAfterMs: RETRY_WINDOW_MS, chance })), END);
  }
});

test("[event.retry.retry-after] a Retry-After inside the window is kept, even if a tenth more would exceed the window", () => {
  const change = { retryAfterMs: 160 * HOUR, chance: CHANCE_MAX };
  assert.equal(nextAttemptAt(failed(change)), END - 2 * MINUTE);
  const late = { now: END - 6 * MINUTE, retryAfterMs: 6 * MINUTE - 1, chance: CHANCE_MAX };
  assert.equal(nextAttemptAt(failed(late)), END - 1);
});

test("[event.retry.window] a step that would pass the end becomes an attempt in the last five minutes", () => {
  const before = failed({ attempts: 20, now: END - 20 * MINUTE });
  assert.equal(nextAttemptAt({ ...before, chance: 0 }), END - 5 * MINUTE + 10_000);
  assert.equal(nextAttemptAt({ ...before, chance: CHANCE_MAX }), END - 2 * MINUTE);
  const longer = { ...before, retryAfterMs: 18 * MINUTE };
  assert.equal(nextAttemptAt({ ...longer, chance: 0 }), END - 2 * MINUTE);
  const tooLong = { ...before, retryAfterMs: 18 * MINUTE + 1 };
  assert.equal(nextAttemptAt({ ...tooLong, chance: 0 }), END - 50_000);
  assert.equal(nextAttemptAt({ ...tooLong, chance: CHANCE_MAX }), END - 30_000);
  // A step that ends exactly with the window: at that time nothing would be tried.
  const exact = failed({ attempts: 20, now: END - 30 * MINUTE });
  assert.equal(nextAttemptAt(exact), END - 5 * MINUTE + 10_000);
});

test("[event.retry.window] after the attempt in the last five minutes comes one in the last", () => {
  const failure = failed({ attempts: 20, now: END - 5 * MINUTE + 9_999 });
  assert.equal(nextAttemptAt(failure), END - 5 * MINUTE + 10_000);
  assert.equal(nextAttemptAt({ ...failure, chance: CHANCE_MAX }), END - 2 * MINUTE);
  for (const now of [failure.now + 1, END - 50_001]) {
    assert.equal(nextAttemptAt({ ...failure, now }), END - 50_000);
    assert.equal(nextAttemptAt({ ...failure, now, chance: CHANCE_MAX }), END - 30_000);
  }
  for (const now of [END - 50_000, END - 1]) {
    assert.equal(nextAttemptAt({ ...failure, now }), END);
  }
});

test("[event.retry.window] when the window is over nothing is tried any more", () => {
  for (const late of [0, 1, HOUR, 400 * HOUR]) {
    for (const retryAfterMs of [undefined, 1_000]) {
      assert.equal(nextAttemptAt(failed({ now: END + late, retryAfterMs })), END);
    }
  }
});

const failure: fc.Arbitrary<Failed> = fc
  .record({
    attempts: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 100_000 })),
    decidedAt: fc.integer({ min: 0, max: 4_102_444_800_000 }),
    now: fc.oneof(
      fc.integer({ min: -HOUR, max: RETRY_WINDOW_MS + HOUR }),
      fc.integer({ min: RETRY_WINDOW_MS - 10 * MINUTE, max: RETRY_WINDOW_MS }),
    ),
    retryAfterMs: fc.option(fc.integer({ min: 1, max: 999_999_999_000 }), { nil: undefined }),
    chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  })
  .map((each) => ({ ...each, now: each.decidedAt + each.now }));

test("[event.retry.window] [event.retry.retry-after] the next attempt is never past, too early or too late", () => {
  const property = fc.property(failure, (each) => {
    const at = nextAttemptAt(each);
    const endsAt = each.decidedAt + RETRY_WINDOW_MS;
    assert.ok(Number.isInteger(at));
    assert.ok(at <= endsAt);
    assert.ok(at >= Math.min(each.now, endsAt));
    assert.ok(at >= Math.min(each.now + (each.retryAfterMs ?? 0), endsAt));
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("[event.retry.backoff] more attempts, a longer Retry-After or more chance never make the wait shorter", () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const property = fc.property(failure, fc.nat(100), fc.nat(HOUR), chance, (each, n, ms, other) => {
    const early = { ...each, now: each.decidedAt, retryAfterMs: (each.retryAfterMs ?? 1) % HOUR };
    const wait = nextAttemptAt(early);
    assert.ok(nextAttemptAt({ ...early, attempts: each.attempts + n }) >= wait);
    assert.ok(nextAttemptAt({ ...early, retryAfterMs: early.retryAfterMs + ms }) >= wait);
    const luckier = Math.max(each.chance, other);
    assert.ok(nextAttemptAt({ ...early, chance: luckier }) >= wait);
  });
  fc.assert(property, { numRuns: 1_000 });
});

/** The times at which attempts start at a receiver that answers late and always fails. */
function attemptsOf(
  seed: readonly number[],
  answerMs: number,
  wanted: number | undefined,
): number[] {
  const startTimes: number[] = [];
  let at = DECIDED;
  while (at < END) {
    const attempts = startTimes.push(at);
    assert.ok(attempts < 1_000);
    const chance = seed[attempts % seed.length] ?? 0;
    at = nextAttemptAt(failed({ attempts, now: at + answerMs, retryAfterMs: wanted, chance }));
  }
  assert.equal(at, END);
  return startTimes;
}

test("[event.retry.window] a receiver that is down to the end is asked in the last five minutes, and in the last one", () => {
  const chances = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
    minLength: 1,
    maxLength: 50,
  });
  // A Retry-After longer than the last minutes can exclude every attempt in them.
  const wanted = fc.option(fc.integer({ min: 1, max: 4 * MINUTE }), { nil: undefined });
  const answer = fc.integer({ min: 0, max: 10_000 });
  const property = fc.property(chances, answer, wanted, (seed, answerMs, wantedMs) => {
    const startTimes = attemptsOf(seed, answerMs, wantedMs);
    assert.ok(startTimes.length > 160 && startTimes.length < 400, `${startTimes.length} attempts`);
    const gaps = startTimes.slice(1).map((at, index) => at - (startTimes[index] ?? 0));
    assert.ok(Math.max(...gaps) <= 1.1 * HOUR + 10_000);
    const last = startTimes.filter((at) => at >= END - 5 * MINUTE);
    assert.ok(last.length >= 1 && last.length <= 4, `${last.length} in the last five minutes`);
    if (wantedMs !== undefined) return;
    assert.ok(startTimes.some((at) => at >= END - MINUTE && at <= END - 1));
  });
  fc.assert(property, { numRuns: 200 });
});

test("[event.retry.not-ended] the window starts at the decision, for attempts of any duration", () => {
  // Neither the end of an approval's validity nor a new receiver is among what is asked about:
  // the same failure at another time ends at the same time.
  for (const now of [DECIDED, DECIDED + HOUR, DECIDED + 24 * HOUR, END - 6 * MINUTE]) {
    assert.ok(nextAttemptAt(failed({ attempts: 20, now })) < END);
    assert.equal(nextAttemptAt(failed({ now, retryAfterMs: 400 * HOUR })), END);
  }
});
