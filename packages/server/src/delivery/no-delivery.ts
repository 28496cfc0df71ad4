import type { Clock } from "../clock.ts";
import type { Settings } from "../config/settings.ts";
import type { AttemptOutcome } from "../core/notification.ts";
import type { Delivery, Verification } from "./delivery.ts";
import { DestinationLimits } from "./destination-limits.ts";
import { ReceiverUrls } from "./receiver-urls.ts";

/** For a provider whose webhooks are off, and for commands beside a server: sends nothing. */
export class NoDelivery implements Delivery {
  readonly limits: DestinationLimits;
  readonly urls: ReceiverUrls;

  constructor({ webhooks }: Settings, clock: Clock) {
    this.limits = new DestinationLimits(webhooks.bounds, clock);
    this.urls = new ReceiverUrls({ internalNames: webhooks.allowCidrs.length > 0 });
  }

  async verify(): Promise<Verification> {
    return { kind: "failed" };
  }

  async send(): Promise<AttemptOutcome> {
    return { kind: "refused" };
  }

  close(): void {}
}
