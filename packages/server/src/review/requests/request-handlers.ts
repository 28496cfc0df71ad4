/** Handlers of requests, verdicts, votes and delayed verdicts. */

import { formatTimestamp, invalidField } from "@countersign/protocol";
import { type BodyReceived, JsonText, type requests, writeCursor } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { relyingPartyOf } from "../../identity/passkeys.ts";
import { findRenderers } from "../../operations/policy/findRenderers.ts";
import { castVerdict, type Verdict } from "../../operations/requests/castVerdict.ts";
import { challengeVerdict } from "../../operations/requests/challengeVerdict.ts";
import { claimRequest, releaseClaim } from "../../operations/requests/claimRequest.ts";
import { handOverClaim } from "../../operations/requests/handOverClaim.ts";
import { listRequests } from "../../operations/requests/listRequests.ts";
import { showBackground } from "../../operations/requests/showBackground.ts";
import {
  type ReviewedRequest,
  reviewRequest,
  showRequest,
} from "../../operations/requests/showRequest.ts";
import { takeBackVerdict } from "../../operations/requests/takeBackVerdict.ts";
import { verifySignature } from "../../operations/requests/verifySignature.ts";
import { withdrawVote } from "../../operations/requests/withdrawVote.ts";
import { CallFactsCache, UNKNOWN } from "./call-facts.ts";
import { toWireBackground, toWireReviewed } from "./request-to-wire.ts";

/** @param publicUrl base URL of this server, to which passkeys are bound */
export function requestHandlers(
  context: Context,
  publicUrl: () => string,
): Handlers<typeof requests> {
  const now = () => formatTimestamp(context.clock.now());
  const facts = new CallFactsCache();
  const toWire = async (
    caller: ReviewerCaller,
    reading: readonly ReviewedRequest[] | Promise<readonly ReviewedRequest[]>,
  ) => {
    // Together, so that their lookups share messages to the database.
    const [all, renderers] = await Promise.all([reading, findRenderers(context, caller.projectId)]);
    const calls = all.map(({ request }) => request);
    const known = await facts.of(calls, renderers);
    const url = publicUrl();
    return all.map((reviewed, index) =>
      toWireReviewed(reviewed, url, caller, context.clock.now(), known[index] ?? UNKNOWN),
    );
  };
  const toWireOne = async (caller: ReviewerCaller, reading: Promise<ReviewedRequest>) => {
    const [wire] = await toWire(
      caller,
      reading.then((reviewed) => [reviewed]),
    );
    if (wire === undefined) throw new Error("the request is missing");
    return wire;
  };
  return {
    async listRequests({ caller, query }) {
      const page = await listRequests(context, caller, query);
      return {
        requests: await toWire(caller, page.requests),
        damaged: page.damaged.length === 0 ? undefined : page.damaged,
        next: writeCursor(page.next),
        now: now(),
      };
    },

    async showRequest({ caller, path }) {
      const reviewed = showRequest(context, caller, path.id);
      return { ...(await toWireOne(caller, reviewed)), now: now() };
    },

    async showBackground({ caller, path }) {
      return toWireBackground(await showBackground(context, caller, path.id), now());
    },

    async castVerdict({ caller, path: { id }, body }) {
      const verdict = toVerdict(body);
      const party = relyingPartyOf(publicUrl());
      const signature = await verifySignature(context, party, caller, id, verdict, body.passkey);
      const stored = await castVerdict(context, caller, id, { ...verdict, signature });
      return toWireOne(caller, reviewRequest(context, caller, stored));
    },

    async challengeVerdict({ caller, path, body }) {
      const party = relyingPartyOf(publicUrl());
      const challenge = await challengeVerdict(context, party, caller, path.id, toVerdict(body));
      return {
        nonce: challenge.nonce,
        options: new JsonText(challenge.options),
        expires_at: formatTimestamp(challenge.expiresAt),
      };
    },

    async withdrawVote({ caller, path }) {
      return { withdrawn: await withdrawVote(context, caller, path.id) };
    },

    async claimRequest({ caller, path: { id }, body }) {
      const takesOver = body.take_over ?? false;
      return { claimed: await claimRequest(context, caller, id, takesOver) };
    },

    async releaseClaim({ caller, path }) {
      return { released: await releaseClaim(context, caller, path.id) };
    },

    async handOverClaim({ caller, path: { id }, body }) {
      return { handed_over: await handOverClaim(context, caller, id, body.reviewer_id) };
    },

    async takeBackVerdict({ caller, path }) {
      return { taken_back: await takeBackVerdict(context, caller, path.id) };
    },
  };
}

type Sent = BodyReceived<typeof requests.castVerdict>;

const OF_APPROVALS = ["valid_for", "confirmation", "passkey"] as const;

/**
 * The verdict of a body, without its signature.
 *
 * @throws Problem `invalid_request` that names a field which the verdict excludes
 */
function toVerdict(body: Sent): Verdict {
  const excluded = OF_APPROVALS.find((name) => body[name] !== undefined);
  if (body.verdict === "deny" && excluded !== undefined) {
    throw invalidField(excluded, "is allowed only with the verdict approve");
  }
  if (body.passkey !== undefined && body.hold !== undefined) {
    throw invalidField("hold", "cannot be combined with passkey");
  }
  return {
    verdict: body.verdict,
    argumentsSha256: body.arguments_sha256,
    note: body.note,
    validityMs: body.valid_for,
    confirmation: body.confirmation,
    holdMs: body.hold,
  };
}
