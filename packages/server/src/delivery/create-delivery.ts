import type { Random } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import { parseCidrs } from "../core/address.ts";
import { createEgress, createUrls, type EgressParts } from "../egress/create-egress.ts";
import type { Report } from "../report.ts";
import type { Delivery } from "./delivery.ts";
import { DestinationLimits } from "./destination-limits.ts";
import { WebhookDelivery } from "./webhook-delivery.ts";

export interface DeliveryParts extends EgressParts {
  readonly random: Random;
  readonly report: Report;
}

/** Creates the webhook sender with the operator's limits and rules. */
export function createDelivery(settings: Settings, parts: DeliveryParts): Delivery {
  const { clock, random, report } = parts;
  const { nat64Prefixes, bounds } = settings.webhooks;
  const egress = createEgress(settings, parts);
  const limits = new DestinationLimits(bounds, clock, parseCidrs(nat64Prefixes));
  return new WebhookDelivery({
    egress,
    limits,
    urls: createUrls(settings),
    clock,
    random,
    report,
  });
}
