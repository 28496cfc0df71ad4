/**
 * The gate in front of every operation: who calls, may this kind of credential call this, and
 * not too often. It runs before the body is read, so strangers cannot make us read one.
 *
 * @see contract: Authentication, 4
 */

import { type CredentialKind, Problem } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { assertMay } from "../identity/assert-may.ts";
import type { Caller } from "../identity/caller.ts";
import { authenticateCaller } from "../operations/authenticateCaller.ts";
import { RateLimiter } from "../rate-limiter.ts";

export interface Gate {
  /**
   * Lets through callers of this kind; runs before the body is read. Of reviewers it asks for every
   * GET whether they may look, so that no route can forget it; what else they may is asked by the
   * operations.
   */
  admit(kind: CredentialKind): (request: FastifyRequest) => Promise<void>;

  /**
   * Charges the caller for a large body; runs when it was read. Where the body was still on its way
   * when the caller was looked up, it looks again: nobody can keep exchanges begun for the time
   * after their token is revoked.
   */
  charge(request: FastifyRequest): Promise<void>;
}

/** Every further so many bytes of a body count as one more exchange. */
const BYTES_PER_EXCHANGE = 4_096;

export function createGate(context: Context): Gate {
  const { rates } = context.settings;
  const limiters: Readonly<Record<CredentialKind | "unauthenticated", RateLimiter>> = {
    instance: new RateLimiter(rates.instance, context.clock),
    provisioner: new RateLimiter(rates.provisioner, context.clock),
    reviewer: new RateLimiter(rates.reviewer, context.clock),
    unauthenticated: new RateLimiter(rates.unauthenticated, context.clock),
  };

  /** Those whose body was not there when their caller was looked up. */
  const arriving = new WeakSet<FastifyRequest>();

  async function identify(request: FastifyRequest): Promise<Caller> {
    try {
      return await authenticateCaller(context, request.headers.authorization);
    } catch (error) {
      // Only those who fail pay, so one broken client cannot lock out its neighbours.
      const isRefusal = error instanceof Problem && error.code === "invalid_credential";
      if (isRefusal) take(limiters.unauthenticated, request.socket.remoteAddress ?? "");
      throw error;
    }
  }

  return {
    admit: (kind) => async (request) => {
      const caller = await identify(request);
      request.caller = caller;
      if (!request.raw.complete) arriving.add(request);
      take(limiters[caller.kind], caller.credentialId);
      if (caller.kind !== kind) throw new Problem("wrong_credential_kind");
      if (caller.kind === "reviewer" && request.method === "GET") {
        assertMay(caller, request.routeOptions.config.looking ?? "read");
      }
    },
    async charge(request) {
      const { caller, body } = request;
      if (caller === null || !(body instanceof Uint8Array)) return;
      const exchanges = Math.floor(body.length / BYTES_PER_EXCHANGE);
      if (exchanges > 0) limiters[caller.kind].charge(caller.credentialId, exchanges);
      // An instance's credential ends with the instance, which is locked and looked at.
      if (caller.kind !== "instance" && arriving.has(request)) {
        request.caller = await identify(request);
      }
    },
  };
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

function take(limiter: RateLimiter, key: string): void {
  const retryAfterS = limiter.take(key);
  if (retryAfterS > 0) throw new Problem("rate_limited", undefined, { retryAfterS });
}
