/** What the stream says, with the time at which it was heard. */

import { deviceNow } from "../device-clock.ts";
import type { FeedMessage } from "./feed.ts";

export interface HeardMessage {
  readonly message: FeedMessage;
  /** By the device's clock: what was kept for a sleeping tab is old when it is told. */
  readonly heardAt: number;
}

/** A message that took longer says nothing about the time. */
const TRANSIT_MS_MAX = 2_000;

export function heardNow(message: FeedMessage): HeardMessage {
  return { message, heardAt: deviceNow() };
}

/** Whether it came straight from the server. */
export function isFresh({ heardAt }: HeardMessage): boolean {
  return Math.abs(deviceNow() - heardAt) <= TRANSIT_MS_MAX;
}
