/** Creates egress clients with the rules of the operator. */

import type { Clock } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import { parseCidrs } from "../core/address.ts";
import { createEgressClient, type EgressClient } from "./egress-client.ts";
import { ReceiverUrls } from "./receiver-urls.ts";
import { createResolver, type Resolver } from "./resolve-host.ts";

export interface EgressParts {
  readonly clock: Clock;
  /** Replaces DNS, for tests. */
  readonly resolver?: Resolver | undefined;
  /** Additional trusted certificates, for tests; operators set NODE_EXTRA_CA_CERTS. */
  readonly ca?: readonly string[] | undefined;
}

/** Creates an egress client with the operator's rules. Each client has its own connections. */
export function createEgress(
  settings: Pick<Settings, "webhooks">,
  parts: EgressParts,
): EgressClient {
  return createWith(settings.webhooks, parts, settings.webhooks.allowCidrs);
}

/** Every address. */
const EVERYWHERE = ["0.0.0.0/0", "::/0"];

/**
 * Creates an egress client for one URL of the operator, who may choose a private address. Only a
 * URL that others choose needs a guard.
 */
export function createCollectorEgress(
  settings: Pick<Settings, "webhooks">,
  parts: EgressParts,
): EgressClient {
  return createWith(settings.webhooks, parts, EVERYWHERE);
}

function createWith(
  { nat64Prefixes, proxyUrl, bounds }: Settings["webhooks"],
  { clock, ca, resolver = createResolver() }: EgressParts,
  allowCidrs: readonly string[],
): EgressClient {
  return createEgressClient({
    rules: { allow: parseCidrs(allowCidrs), nat64: parseCidrs(nat64Prefixes) },
    resolver,
    clock,
    perDestinationMax: Math.min(bounds.hostInFlightMax, bounds.addressInFlightMax),
    proxyUrl,
    ca,
  });
}

/** Parses URLs with the operator's rules. */
export function createUrls({ webhooks }: Pick<Settings, "webhooks">): ReceiverUrls {
  return new ReceiverUrls({ internalNames: webhooks.allowCidrs.length > 0 });
}
