/**
 * The notifications: one event for each terminal request, with retries until an acknowledgement.
 */

import { randomUUID } from "node:crypto";
import type { Ledger } from "./conduct.ts";
import type { Cause, StoredDecision, StoredEvent, StoredRequest } from "./ledger.ts";
import { send } from "./sending.ts";
import { objectText, quote } from "./wire.ts";

export function notify(
  ledger: Ledger,
  request: StoredRequest,
  decision: StoredDecision,
  cause: Cause,
): void {
  const count = ledger.conduct.events(request, cause);
  for (let i = 0; i < count; i++) {
    const id = randomUUID();
    const members = {
      id: quote(id),
      type: quote("request.resolved"),
      instance_id: quote(request.instance.id),
      request_id: quote(request.id),
      created_at: quote(ledger.conduct.timestamp(decision.decidedAt)),
    };
    const event: StoredEvent = {
      id,
      request,
      decision,
      attempts: 0,
      isEnded: false,
      isInFlight: false,
      body: Buffer.from(objectText(ledger.conduct.eventMembers(members, request))),
      timer: undefined,
    };
    ledger.events.set(id, event);
    schedule(ledger, event, 0);
  }
}

/** After a receiver was replaced or removed. */
export function receiverChanged(ledger: Ledger, instanceId: string): void {
  const events = [...ledger.events.values()].filter(
    ({ request }) => request.instance.id === instanceId,
  );
  for (const event of events) {
    if (ledger.conduct.receiver(event) === undefined) end(event);
  }
  for (const event of ledger.conduct.replaced(events, ledger)) {
    event.isEnded = false;
    schedule(ledger, event, 0);
  }
}

function end(event: StoredEvent): void {
  clearTimeout(event.timer);
  event.isEnded = true;
}

function schedule(ledger: Ledger, event: StoredEvent, delayMs: number): void {
  if (ledger.closing.signal.aborted) return;
  clearTimeout(event.timer);
  event.timer = setTimeout(() => void attempt(ledger, event), delayMs);
}

async function attempt(ledger: Ledger, event: StoredEvent): Promise<void> {
  const { conduct, options } = ledger;
  const receiver = conduct.receiver(event);
  if (receiver === undefined) end(event);
  if (receiver === undefined || event.isEnded) return;
  event.attempts += 1;
  event.isInFlight = true;
  const overlapMs = conduct.overlapMs();
  if (overlapMs !== undefined) schedule(ledger, event, overlapMs);
  const reply = await send(ledger, event.request.instance, {
    receiver,
    id: conduct.eventId(event),
    timestampS: conduct.timestampS(Date.now(), event),
    body: conduct.eventBody(event),
  });
  event.isInFlight = false;
  if (event.isEnded) return;
  const delayMs = conduct.acknowledges(reply) ? undefined : conduct.delayMs(reply, event, options);
  if (delayMs === undefined) end(event);
  else schedule(ledger, event, delayMs);
}
