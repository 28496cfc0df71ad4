/**
 * Authenticates the caller of every operation, checks the kind of credential and limits the rate.
 * It runs before the body is read, so unauthenticated clients cannot send one.
 *
 * @see contract: Authentication, 4
 */

import { type CredentialKind, Problem, type ProblemCode } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";
import { originOf } from "../config/public-url.ts";
import type { Context } from "../context.ts";
import { assertMay } from "../identity/assert-may.ts";
import type { Caller, ReviewerCaller, SignedIn } from "../identity/caller.ts";
import { authenticateCaller } from "../operations/access/authenticateCaller.ts";
import { authenticateSession, reviewerOf } from "../operations/access/authenticateSession.ts";
import { authenticateScim } from "../operations/scim/authenticateScim.ts";
import { RateLimiter } from "../rate-limiter.ts";
import { namedProject } from "./named-project.ts";
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

  /** Admits identity providers, before the body is read. Requires a SCIM token. */
  readonly admitScim: Hook;

  /** Admits signed-in users, reviewers or not. Requires a session cookie. */
  readonly admitPerson: Hook;

  /** For operations before a sign-in: requires the same origin and limits the rate. */
  readonly admitAnonymous: Hook;

  /** For the exchange of a token: limits the rate. */
  readonly admitExchange: Hook;

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

  /** Charges an authenticated caller for further operations in one exchange. */
  chargeMore(request: FastifyRequest, exchanges: number): void;

  /**
   * Authenticates an admitted reviewer again, in a long exchange.
   *
   * @throws Problem as the first authentication does
   */
  reauthenticate(request: FastifyRequest): Promise<ReviewerCaller>;
}

const BACKGROUND = "countersign-background";

/** Of an authentication; `not_found`: the caller does not belong to the project. */
const REFUSALS: readonly ProblemCode[] = ["invalid_credential", "not_found"];

/** This many further bytes of a body count as one more exchange. */
const BYTES_PER_EXCHANGE = 4_096;

type LimitedKind = CredentialKind | "unauthenticated" | "signIn" | "exchange";

/** @param publicUrl base URL of this server; called once it listens */
export function createGate(context: Context, publicUrl: () => string): Gate {
  const { rates } = context.settings;
  const limiters: Readonly<Record<LimitedKind, RateLimiter>> = {
    instance: new RateLimiter(rates.instance, context.clock),
    provisioner: new RateLimiter(rates.provisioner, context.clock),
    reviewer: new RateLimiter(rates.reviewer, context.clock),
    unauthenticated: new RateLimiter(rates.unauthenticated, context.clock),
    // A separate limit: invalid tokens from an address do not block sign-ins from it.
    signIn: new RateLimiter(rates.unauthenticated, context.clock),
    // Agents and reviewers can have one address: exchanges of tokens do not block sign-ins.
    exchange: new RateLimiter(rates.unauthenticated, context.clock),
  };

  /** Exchanges with an incomplete body at their authentication, and how to repeat it. */
  const arriving = new WeakMap<FastifyRequest, () => Promise<void>>();

  async function refusable<T>(
    request: FastifyRequest,
    identify: () => Promise<T>,
    refusals = REFUSALS,
  ): Promise<T> {
    try {
      return await identify();
    } catch (error) {
      // Charges failures only, so one broken client cannot block its neighbours.
      const isRefusal = error instanceof Problem && refusals.includes(error.code);
      if (isRefusal) limiters.unauthenticated.takeOrRefuse(peerOf(request));
      throw error;
    }
  }

  return {
    chargeFailure: (request, authenticate) =>
      refusable(request, authenticate, ["invalid_credential"]),
    admit: (kind) => async (request) => {
      const authenticate = () =>
        refusable(request, () => identify(context, request, kind, publicUrl()));
      await authenticate();
      const caller = request.caller as Caller;
      if (!request.raw.complete) arriving.set(request, authenticate);
      limiters[caller.kind].takeOrRefuse(caller.credentialId);
      if (caller.kind !== kind) throw new Problem("wrong_credential_kind");
      if (caller.kind === "reviewer" && request.method === "GET") {
        assertMay(caller, request.routeOptions.config.requiredPower ?? "read");
      }
    },
    async admitScim(request) {
      const { authorization } = request.headers;
      const authenticate = async () => {
        const caller = await refusable(request, () => authenticateScim(context, authorization));
        request.scimCaller = caller;
        return caller;
      };
      const { tokenId } = await authenticate();
      if (!request.raw.complete) arriving.set(request, async () => void (await authenticate()));
      limiters.provisioner.takeOrRefuse(tokenId);
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
    async admitExchange(request) {
      limiters.exchange.takeOrRefuse(peerOf(request));
    },
    async reauthenticate(request) {
      await identify(context, request, "reviewer", publicUrl());
      const caller = callerOf(request, "reviewer");
      assertMay(caller, request.routeOptions.config.requiredPower ?? "read");
      return caller;
    },
    chargeMore({ caller }, exchanges) {
      if (caller !== null) limiters[caller.kind].charge(caller.credentialId, exchanges);
    },
    async charge(request) {
      const { caller, scimCaller, body } = request;
      if (!(body instanceof Uint8Array)) return;
      const exchanges = Math.floor(body.length / BYTES_PER_EXCHANGE);
      if (exchanges > 0 && caller !== null) {
        limiters[caller.kind].charge(caller.credentialId, exchanges);
      }
      if (exchanges > 0 && scimCaller !== null) {
        limiters.provisioner.charge(scimCaller.tokenId, exchanges);
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
    const caller = await authenticateCaller(context, authorization);
    if (kind === "reviewer") assertOwnProject(caller, request);
    request.caller = caller;
  }
}

/**
 * A token belongs to one project.
 *
 * @throws Problem `not_found` when the call names another one
 */
function assertOwnProject({ projectId }: Caller, request: FastifyRequest): void {
  if ((namedProject(request) ?? projectId) !== projectId) throw new Problem("not_found");
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
  request.signedIn = await authenticateSession(context, cookie, {
    projectId: namedProject(request),
    isUse: !isBackground(request),
  });
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
