/**
 * The gate in front of every operation: who calls, may this kind of credential call this, and
 * not too often. It runs before the body is read, so strangers cannot make us read one.
 *
 * @see contract: Authentication, 4
 */

import { type CredentialKind, Problem } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";
import { originOf } from "../config/public-url.ts";
import type { Context } from "../context.ts";
import { assertMay } from "../identity/assert-may.ts";
import type { Caller, ReviewerCaller, SignedIn } from "../identity/caller.ts";
import { authenticateCaller } from "../operations/access/authenticateCaller.ts";
import { authenticateSession, reviewerOf } from "../operations/access/authenticateSession.ts";
import { RateLimiter } from "../rate-limiter.ts";
import { peerOf } from "./peer.ts";
import { assertSameOrigin } from "./same-origin.ts";
import { sessionCookie } from "./session-cookie.ts";

type Hook = (request: FastifyRequest) => Promise<void>;

export interface Gate {
  /**
   * Lets through callers of this kind; runs before the body is read. Reviewers may come with the
   * cookie of a session instead of a token; for other callers cookies are ignored. Every GET of a
   * reviewer requires the power to read, so that no route can forget it; the operations check other
   * powers.
   */
  admit(kind: CredentialKind): Hook;

  /** Lets through who has signed in, a reviewer or not; with a cookie only. */
  readonly admitPerson: Hook;

  /** For what comes before signing in: from a page of ours, and not too often. */
  readonly admitAnonymous: Hook;

  /**
   * Charges the caller for a large body; runs when it was read. If the body was incomplete at the
   * authentication, it authenticates again: an open exchange cannot be kept for use after its token
   * is revoked or its session has ended.
   */
  charge(request: FastifyRequest): Promise<void>;

  /**
   * Authenticates an admitted reviewer again, in an exchange that lasts.
   *
   * @throws Problem as at the door, when they would not be let in any more
   */
  reauthenticate(request: FastifyRequest): Promise<ReviewerCaller>;
}

const BACKGROUND = "countersign-background";

/** Every further so many bytes of a body count as one more exchange. */
const BYTES_PER_EXCHANGE = 4_096;

/** @param publicUrl where people reach this server; asked for when it listens */
export function createGate(context: Context, publicUrl: () => string): Gate {
  const { rates } = context.settings;
  const limiters: Readonly<Record<CredentialKind | "unauthenticated" | "signIn", RateLimiter>> = {
    instance: new RateLimiter(rates.instance, context.clock),
    provisioner: new RateLimiter(rates.provisioner, context.clock),
    reviewer: new RateLimiter(rates.reviewer, context.clock),
    unauthenticated: new RateLimiter(rates.unauthenticated, context.clock),
    // Apart, so that invalid tokens sent from an address do not stop sign-ins from there.
    signIn: new RateLimiter(rates.unauthenticated, context.clock),
  };

  /** Exchanges with an incomplete body at their authentication, and how to repeat it. */
  const arriving = new WeakMap<FastifyRequest, () => Promise<void>>();

  async function refusable(request: FastifyRequest, identify: () => Promise<void>): Promise<void> {
    try {
      await identify();
    } catch (error) {
      // Only those who fail pay, so one broken client cannot lock out its neighbours.
      const isRefusal = error instanceof Problem && error.code === "invalid_credential";
      if (isRefusal) limiters.unauthenticated.takeOrRefuse(peerOf(request));
      throw error;
    }
  }

  return {
    admit: (kind) => async (request) => {
      const authenticate = () =>
        refusable(request, () => identify(context, request, kind, publicUrl()));
      await authenticate();
      const caller = request.caller as Caller;
      // An instance's credential ends with the instance, which is locked and read.
      if (!request.raw.complete && caller.kind !== "instance") arriving.set(request, authenticate);
      limiters[caller.kind].takeOrRefuse(caller.credentialId);
      if (caller.kind !== kind) throw new Problem("wrong_credential_kind");
      if (caller.kind === "reviewer" && request.method === "GET") {
        assertMay(caller, request.routeOptions.config.requiredPower ?? "read");
      }
    },
    async admitPerson(request) {
      if (request.headers.authorization !== undefined) {
        throw new Problem(
          "wrong_credential_kind",
          "This operation requires a session, not a token. Sign in first.",
        );
      }
      const authenticate = () =>
        refusable(request, () => identifyPerson(context, request, publicUrl()));
      await authenticate();
      if (!request.raw.complete) arriving.set(request, authenticate);
      limiters.reviewer.takeOrRefuse(signedInBy(request).session.id);
    },
    async admitAnonymous(request) {
      assertSameOrigin(request, originOf(publicUrl()));
      limiters.signIn.takeOrRefuse(peerOf(request));
    },
    async reauthenticate(request) {
      await identify(context, request, "reviewer", publicUrl());
      const caller = callerOf(request, "reviewer");
      assertMay(caller, request.routeOptions.config.requiredPower ?? "read");
      return caller;
    },
    async charge(request) {
      const { caller, body } = request;
      if (!(body instanceof Uint8Array)) return;
      const exchanges = Math.floor(body.length / BYTES_PER_EXCHANGE);
      if (exchanges > 0 && caller !== null) {
        limiters[caller.kind].charge(caller.credentialId, exchanges);
      }
      await arriving.get(request)?.();
    },
  };
}

async function identify(
  context: Context,
  request: FastifyRequest,
  kind: CredentialKind,
  publicUrl: string,
): Promise<void> {
  const { authorization } = request.headers;
  if (kind === "reviewer" && authorization === undefined && sessionCookie(request) !== undefined) {
    await identifyPerson(context, request, publicUrl);
    request.caller = reviewerOf(signedInBy(request));
  } else {
    request.caller = await authenticateCaller(context, authorization);
  }
}

async function identifyPerson(
  context: Context,
  request: FastifyRequest,
  publicUrl: string,
): Promise<void> {
  const cookie = sessionCookie(request);
  if (cookie === undefined) throw new Problem("invalid_credential");
  // Before the lookup: another site learns nothing from how long it takes.
  assertSameOrigin(request, originOf(publicUrl));
  request.signedIn = await authenticateSession(context, cookie, !isBackground(request));
}

/** What a page asks for by itself: it says so, or the route is one for that. */
function isBackground({ method, headers, routeOptions }: FastifyRequest): boolean {
  if (method !== "GET") return false;
  return routeOptions.config.isBackground === true || headers[BACKGROUND] === "1";
}

/** Who the gate of this route let through by their session. */
export function signedInBy({ signedIn }: FastifyRequest): SignedIn {
  if (signedIn === null) throw new Error("a route was reached past its gate");
  return signedIn;
}

/** The caller that the gate of this route let through. */
export function callerOf<K extends CredentialKind>(
  request: FastifyRequest,
  kind: K,
): Extract<Caller, { readonly kind: K }> {
  const { caller } = request;
  if (caller?.kind !== kind) throw new Error("a route was reached past its gate");
  return caller as Extract<Caller, { readonly kind: K }>;
}
