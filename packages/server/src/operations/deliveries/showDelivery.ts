import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  type ReviewedDelivery,
  reviewDeliveries,
} from "../../steps/deliveries/reviewDeliveries.ts";
import { readNotificationOfProject } from "../../storage/sql/deliveries/notification-listings.ts";

/**
 * The current state of a delivery of the reviewer's project.
 *
 * @param id of the delivery, or of its request
 * @throws Problem `not_found`, also for a request without a notification
 */
export async function showDelivery(
  { store, clock }: Pick<Context, "store" | "clock">,
  { projectId }: ReviewerCaller,
  id: string,
): Promise<ReviewedDelivery> {
  const notification = await readNotificationOfProject(store, { projectId, id });
  const found = notification === undefined ? [] : [notification];
  const [delivery] = await reviewDeliveries(store, projectId, found, clock.now());
  if (delivery === undefined) throw new Problem("not_found");
  return delivery;
}
