import type { Clock } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import type { AttemptOutcome } from "../core/notification.ts";
import { createUrls } from "../egress/create-egress.ts";
import type { ReceiverUrls } from "../egress/receiver-urls.ts";
import type { Delivery, Verification } from "./delivery.ts";
import { DestinationLimits } from "./destination-limits.ts";

/** Sends nothing. For a provider with webhooks off, and for commands beside a server. */
export class NoDelivery implements Delivery {
  readonly limits: DestinationLimits;
  readonly urls: ReceiverUrls;

  constructor(settings: Settings, clock: Clock) {
    this.limits = new DestinationLimits(settings.webhooks.bounds, clock);
    this.urls = createUrls(settings);
  }

  async verify(): Promise<Verification> {
    return { kind: "failed" };
  }

  async send(): Promise<AttemptOutcome> {
    return { kind: "refused" };
  }

  close(): void {}
}
