import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery } from "@countersign/review-api";
import { outcomeInWords, renderDeliveries, renderDelivery } from "./render-deliveries.ts";

const NOW = Date.UTC(2026, 0, 1);
const ID = "01a1fb6b-6ba3-7554-8ce5-a39d503b8141";
const REQUEST_ID = "01a1fb6b-6ba3-7554-8ce5-111111111111";

const WAITING = {
  id: ID,
  request_id: REQUEST_ID,
  instance: { id: "01a1fb6b-6ba3-7554-8ce5-000000000000", name: "quiet-heron-7k2m" },
  status: "waiting",
  destination: "https://hooks.example.com",
  attempts: 4,
  last_attempt: { at: "2025-12-31T23:59:00.000Z", outcome: "rejected", http_status: 500 },
  next_attempt_at: "2026-01-01T00:00:42.000Z",
  gives_up_at: "2026-01-07T05:00:00.000Z",
  created_at: "2025-12-31T05:00:00.000Z",
} satisfies Delivery;

function described(outcome: string, status?: number): string {
  return outcomeInWords({ at: "", outcome, http_status: status });
}

test("[ours.deliveries.cli] the outcome of an attempt is rendered in words", () => {
  assert.equal(described("rejected", 500), "the receiver answered 500");
  assert.equal(described("acknowledged", 204), "the receiver answered 204");
  assert.equal(described("rejected", 302), "the receiver answered 302; redirects are not followed");
  assert.equal(described("refused"), "refused: the address is not public");
  assert.equal(described("unreachable:tls"), "TLS failed");
  assert.equal(described("unreachable:timeout"), "no answer in time");
  const reasons = ["dns", "connect", "reset", "protocol", "too_large", "stale", "internal"];
  for (const reason of reasons) {
    assert.doesNotMatch(described(`unreachable:${reason}`), /unreachable|_/);
  }
  assert.equal(described("unreachable:\u001bnew"), "unreachable:\\u{001B}new");
});

test("[ours.deliveries.cli] a card counts down to the next attempt and to the end of the window", () => {
  assert.equal(
    renderDelivery(WAITING, NOW),
    `delivery   ${ID}
request    ${REQUEST_ID}, decided 2025-12-31T05:00:00.000Z
instance   quiet-heron-7k2m  01a1fb6b-6ba3-7554-8ce5-000000000000
receiver   https://hooks.example.com
status     waiting, next attempt in 42s
attempts   4
last       2025-12-31T23:59:00.000Z, the receiver answered 500
gives up   in 6d 5h, 2026-01-07T05:00:00.000Z`,
  );
});

test("[ours.deliveries.cli] the card of an ended delivery shows its outcome and no remaining time", () => {
  const ended: Delivery = {
    ...WAITING,
    status: "ended",
    ended_by: "removal",
    next_attempt_at: undefined,
  };
  const at = "2026-01-01T00:00:00.000Z";
  const card = renderDelivery({ ...ended, ended_at: at, destination: null }, NOW);
  assert.match(card, /^status {5}ended at 2026-01-01T00:00:00.000Z: receiver removed$/m);
  assert.match(card, /^receiver {3}gone$/m);
  assert.doesNotMatch(card, /gives up|next/);
  assert.match(renderDelivery(ended, NOW), /^status {5}ended: receiver removed$/m);
});

test("[ours.deliveries.cli] a table truncates names and receivers with a mark", () => {
  const long = {
    ...WAITING,
    instance: { ...WAITING.instance, name: "n".repeat(100) },
    destination: `https://${"h".repeat(100)}.example`,
  };
  const due = { ...WAITING, next_attempt_at: "2025-12-31T00:00:00.000Z", last_attempt: undefined };
  const [head = "", first = "", second = ""] = renderDeliveries([long, due], NOW, 0).split("\n");
  assert.match(head, /^DELIVERY +NEXT +TRIES +INSTANCE +RECEIVER +LAST ATTEMPT$/);
  assert.match(first, new RegExp(`^${ID}  in 42s +4 +n{15}\\.{3}  h{21}\\.{3}  the receiver`));
  assert.match(second, new RegExp(`^${ID}  now +4 +quiet-heron-7k2m +hooks\\.example\\.com$`));
});
