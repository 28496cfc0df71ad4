import type { Clock, Random } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import { type Cidr, parseCidr } from "../core/address.ts";
import type { Report } from "../report.ts";
import type { Delivery } from "./delivery.ts";
import { DestinationLimits } from "./destination-limits.ts";
import { createDoor } from "./guarded-fetch.ts";
import { ReceiverUrls } from "./receiver-urls.ts";
import { createResolver, type Resolver } from "./resolve-host.ts";
import { WebhookDelivery } from "./webhook-delivery.ts";

export interface DeliveryParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** In place of DNS, for tests. */
  readonly resolver?: Resolver | undefined;
  /** Certificates to trust besides the usual ones, for tests; else NODE_EXTRA_CA_CERTS. */
  readonly ca?: readonly string[] | undefined;
}

/** The one door to the outside, with the limits and rules of the operator. */
export function createDelivery({ webhooks }: Settings, parts: DeliveryParts): Delivery {
  const { clock, random, report, ca, resolver = createResolver() } = parts;
  const { allowCidrs, nat64Prefixes, proxyUrl, bounds } = webhooks;
  const nat64 = toCidrs(nat64Prefixes);
  const door = createDoor({
    rules: { allow: toCidrs(allowCidrs), nat64 },
    resolver,
    clock,
    perDestinationMax: Math.min(bounds.hostInFlightMax, bounds.addressInFlightMax),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(ca === undefined ? {} : { ca }),
  });
  const limits = new DestinationLimits(bounds, clock, nat64);
  const urls = new ReceiverUrls({ internalNames: allowCidrs.length > 0 });
  return new WebhookDelivery({ door, limits, urls, clock, random, report });
}

/** The settings have been checked. */
function toCidrs(texts: readonly string[]): Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? []);
}
