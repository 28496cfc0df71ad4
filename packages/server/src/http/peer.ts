/**
 * Who is at the other end of a connection, as far as attempts are counted.
 *
 * Called by: whatever slows strangers down.
 */

import type { FastifyRequest } from "fastify";
import { countedNetwork } from "../core/address.ts";

/** @returns the same for all addresses that one machine may give itself */
export function peerOf({ socket }: Pick<FastifyRequest, "socket">): string {
  return countedNetwork(socket.remoteAddress ?? "");
}
