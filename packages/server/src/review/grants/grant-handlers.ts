/** Handlers of the standing grants. */

import { formatDuration, formatTimestamp, invalidField } from "@countersign/protocol";
import type { BodyReceived } from "@countersign/review-api";
import {
  GRANT_LASTS_MS,
  type Grant,
  type grants,
  JsonText,
  type GrantPreview as WirePreview,
  type Writable,
  writeCursor,
} from "@countersign/review-api";
import type { Context } from "../../context.ts";
import { stateOf } from "../../core/grant.ts";
import { disconnectSignal } from "../../http/exchange.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { createGrant, type GrantOrder } from "../../operations/grants/createGrant.ts";
import { listGrants, type ReviewedGrant } from "../../operations/grants/listGrants.ts";
import {
  type GrantPreview,
  previewGrant,
  type TermsOrder,
} from "../../operations/grants/previewGrant.ts";
import { revokeGrant } from "../../operations/grants/revokeGrant.ts";
import { showGrant } from "../../operations/grants/showGrant.ts";
import { ConcurrencyLimiter } from "../shared/concurrency-limiter.ts";

const PREVIEWS = {
  totalMax: 2,
  sameKey: "Another preview of yours is running. Try again shortly.",
  otherKeys: "Too many previews of grants are running. Try again shortly.",
};

/** @param onClose calls back when the server stops */
export function grantHandlers(
  context: Context,
  onClose: (callback: () => void) => void,
): Handlers<typeof grants> {
  const previews = new ConcurrencyLimiter(PREVIEWS);
  onClose(() => previews.stop());
  const now = () => context.clock.now();
  return {
    async listGrants({ caller, query: { instance_id, ...listing } }) {
      if (instance_id !== undefined && listing.state !== "active") {
        throw invalidField("instance_id", "is allowed only with the state active");
      }
      const page = await listGrants(context, caller, { ...listing, instanceId: instance_id });
      return {
        grants: page.grants.map((grant) => toWire(grant, now())),
        next: writeCursor(page.next),
        now: formatTimestamp(now()),
      };
    },

    async createGrant({ caller, body, idempotencyKey, request }) {
      const created = await createGrant(context, caller, orderOf(body), idempotencyKey);
      request.subjectId = created.grant.id;
      return { status: created.isNew ? 201 : 200, body: toWire(created, now()) };
    },

    async previewGrant({ caller, body, reply }) {
      const gone = disconnectSignal(reply);
      return previews.run(`${caller.projectId} ${caller.reviewerId}`, async (stopping) => {
        const signal = AbortSignal.any([stopping, gone]);
        return toWirePreview(await previewGrant(context, caller, scopeOf(body), signal));
      });
    },

    async showGrant({ caller, path }) {
      return toWire(await showGrant(context, caller, path.id), now());
    },

    async revokeGrant({ caller, path }) {
      return toWire(await revokeGrant(context, caller, path.id), now());
    },
  };
}

type SentScope = BodyReceived<typeof grants.previewGrant>;

/** @throws Problem `invalid_request` naming the field */
function scopeOf(body: SentScope): Omit<TermsOrder, "note" | "validityMs"> {
  if (body.any_session && body.session !== undefined) {
    throw invalidField("any_session", "cannot be combined with session");
  }
  if (body.any_session && body.turn !== undefined) {
    throw invalidField("any_session", "cannot be combined with turn");
  }
  if (
    body.same_turn &&
    (body.any_session || body.session !== undefined || body.turn !== undefined)
  ) {
    throw invalidField("same_turn", "cannot be combined with session, any_session or turn");
  }
  if (body.any_server && body.server !== undefined) {
    throw invalidField("any_server", "cannot be combined with server");
  }
  return {
    fromRequest: body.from_request,
    instanceId: body.instance_id,
    tool: body.tool,
    server: body.server,
    anyServer: body.any_server || undefined,
    when: body.when,
    session: body.any_session ? null : body.session,
    turn: body.turn,
    sameTurn: body.same_turn || undefined,
  };
}

function orderOf(body: BodyReceived<typeof grants.createGrant>): GrantOrder {
  return {
    ...scopeOf(body),
    note: body.note,
    validityMs: body.valid_for,
    callsMax: body.calls,
    lastsMs: body.lasts ?? GRANT_LASTS_MS.default,
  };
}

function toWirePreview({
  approved,
  denied,
  examples,
  isComplete,
}: GrantPreview): Writable<WirePreview> {
  return {
    approved,
    denied,
    examples: examples.map(({ id, tool, status, createdAt }) => ({
      id,
      tool: new JsonText(tool),
      status,
      created_at: formatTimestamp(createdAt),
    })),
    complete: isComplete,
  };
}

/** @param now the server's time, in milliseconds since 1970 */
function toWire(
  { grant, instanceName, reviewerName }: ReviewedGrant,
  now: number,
): Writable<Grant> {
  const { terms, revokedAt } = grant;
  return {
    id: grant.id,
    state: stateOf(grant, now),
    instance: { id: grant.instanceId, name: new JsonText(instanceName) },
    reviewer: { id: grant.reviewerId, name: reviewerName },
    tool: terms.tool,
    server: terms.server,
    any_server: terms.anyServer,
    when: terms.when,
    session: terms.session,
    turn: terms.turn,
    note: terms.note,
    valid_for: terms.validityMs === undefined ? undefined : formatDuration(terms.validityMs),
    calls: grant.calls,
    calls_max: grant.callsMax,
    created_at: formatTimestamp(grant.createdAt),
    expires_at: formatTimestamp(grant.expiresAt),
    revoked_at: revokedAt === null ? undefined : formatTimestamp(revokedAt),
    revoked_by: grant.revokedBy ?? undefined,
  };
}
