import type { Clock, Random } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import { type Cidr, parseCidr } from "../core/address.ts";
import type { Report } from "../report.ts";
import type { Delivery } from "./delivery.ts";
import { DestinationLimits } from "./destination-limits.ts";
import { createDoor, type Door } from "./guarded-fetch.ts";
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

/** Webhooks to receivers, with the limits and rules of the operator. */
export function createDelivery(settings: Settings, parts: DeliveryParts): Delivery {
  const { clock, random, report } = parts;
  const { nat64Prefixes, bounds } = settings.webhooks;
  const door = openDoor(settings, parts);
  const limits = new DestinationLimits(bounds, clock, toCidrs(nat64Prefixes));
  const urls = createUrls(settings);
  return new WebhookDelivery({ door, limits, urls, clock, random, report });
}

/** A door to the outside with the rules of the operator; each keeps connections of its own. */
export function openDoor(
  { webhooks }: Settings,
  { clock, ca, resolver = createResolver() }: Pick<DeliveryParts, "clock" | "ca" | "resolver">,
): Door {
  const { allowCidrs, nat64Prefixes, proxyUrl, bounds } = webhooks;
  return createDoor({
    rules: { allow: toCidrs(allowCidrs), nat64: toCidrs(nat64Prefixes) },
    resolver,
    clock,
    perDestinationMax: Math.min(bounds.hostInFlightMax, bounds.addressInFlightMax),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    ...(ca === undefined ? {} : { ca }),
  });
}

/** Reads URLs by the operator's rules. */
export function createUrls({ webhooks }: Settings): ReceiverUrls {
  return new ReceiverUrls({ internalNames: webhooks.allowCidrs.length > 0 });
}

/** The settings have been checked. */
function toCidrs(texts: readonly string[]): Cidr[] {
  return texts.flatMap((text) => parseCidr(text) ?? []);
}
