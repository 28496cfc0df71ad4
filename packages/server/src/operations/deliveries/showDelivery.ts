import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  type ReviewedDelivery,
  reviewDeliveries,
} from "../../steps/deliveries/reviewDeliveries.ts";
import { readNotificationOfProject } from "../../storage/sql/deliveries/notification-listings.ts";

/**
 * One delivery of the reviewer's project, as it stands.
 *
 * @param id its own, or that of its request
 * @throws Problem `not_found`, also for a request that was never to be notified
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
