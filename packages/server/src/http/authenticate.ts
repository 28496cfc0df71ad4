/**
 * Authenticates the caller of every operation, checks the kind of credential and limits the rate.
 * It runs before the body is read, so unauthenticated clients cannot send one.
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
   * Admits callers of one kind, before the body is read. Reviewers may use a session cookie instead
   * of a token; other callers' cookies are ignored. Every GET of a reviewer requires the power to
   * read, so no route can omit this check. The operations check other powers.
   */
  admit(kind: CredentialKind): Hook;

  /** Admits signed-in users, reviewers or not. Requires a session cookie. */
  readonly admitPerson: Hook;

  /** For operations before a sign-in: requires the same origin and limits the rate. */
  readonly admitAnonymous: Hook;

  /**
   * Runs an authentication of its own, and charges the address of the client when it fails with
   * `invalid_credential`.
   */
  chargeFailure<T>(request: FastifyRequest, authenticate: () => Promise<T>): Promise<T>;

  /**
   * Charges the caller for a large body, after it was read. If the body was incomplete at the
   * authentication, authenticates again: an open exchange must not remain usable after its token
   * was revoked or its session expired.
   */
  charge(request: FastifyRequest): Promise<void>;

  /**
   * Authenticates an admitted reviewer again, in a long exchange.
   *
   * @throws Problem as the first authentication does
   */
  reauthenticate(request: FastifyRequest): Promise<ReviewerCaller>;
}

const BACKGROUND = "countersign-background";

/** This many further bytes of a body count as one more exchange. */
const BYTES_PER_EXCHANGE = 4_096;

/** @param publicUrl base URL of this server; called once it listens */
export function createGate(context: Context, publicUrl: () => string): Gate {
  const { rates } = context.settings;
  const limiters: Readonly<Record<CredentialKind | "unauthenticated" | "signIn", RateLimiter>> = {
    instance: new RateLimiter(rates.instance, context.clock),
    provisioner: new RateLimiter(rates.provisioner, context.clock),
    reviewer: new RateLimiter(rates.reviewer, context.clock),
    unauthenticated: new RateLimiter(rates.unauthenticated, context.clock),
    // A separate limit: invalid tokens from an address do not block sign-ins from it.
    signIn: new RateLimiter(rates.unauthenticated, context.clock),
  };

  /** Exchanges with an incomplete body at their authentication, and how to repeat it. */
  const arriving = new WeakMap<FastifyRequest, () => Promise<void>>();

  async function refusable<T>(request: FastifyRequest, identify: () => Promise<T>): Promise<T> {
    try {
      return await identify();
    } catch (error) {
      // Charges failures only, so one broken client cannot block its neighbours.
      const isRefusal = error instanceof Problem && error.code === "invalid_credential";
      if (isRefusal) limiters.unauthenticated.takeOrRefuse(peerOf(request));
      throw error;
    }
  }

  return {
    chargeFailure: refusable,
    admit: (kind) => async (request) => {
      const authenticate = () =>
        refusable(request, () => identify(context, request, kind, publicUrl()));
      await authenticate();
      const caller = request.caller as Caller;
      // Deleting an instance revokes its credential. Operations lock and read the instance.
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
  // Before the lookup, so that another site cannot measure its duration.
  assertSameOrigin(request, originOf(publicUrl));
  request.signedIn = await authenticateSession(context, cookie, !isBackground(request));
}

/** True when the page sends the request without user action: by its header or its route. */
function isBackground({ method, headers, routeOptions }: FastifyRequest): boolean {
  if (method !== "GET") return false;
  return routeOptions.config.isBackground === true || headers[BACKGROUND] === "1";
}

/** The signed-in user whom the gate of this route admitted. */
export function signedInBy({ signedIn }: FastifyRequest): SignedIn {
  if (signedIn === null) throw new Error("a route was reached past its gate");
  return signedIn;
}

/** The caller whom the gate of this route admitted. */
export function callerOf<K extends CredentialKind>(
  request: FastifyRequest,
  kind: K,
): Extract<Caller, { readonly kind: K }> {
  const { caller } = request;
  if (caller?.kind !== kind) throw new Error("a route was reached past its gate");
  return caller as Extract<Caller, { readonly kind: K }>;
}
