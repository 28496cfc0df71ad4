import type { Context } from "../../context.ts";
import type { StoredConsumption } from "../../core/consumption.ts";
import type { StoredRequest } from "../../core/request.ts";
import { readConsumption } from "../../storage/sql/requests/consumptions.ts";

/**
 * How an approval was used, for its instance; undefined where it was not, or the operator does not
 * admit that extension, because then an answer has nothing that the contract does not know.
 */
export async function showConsumption(
  { store, settings }: Context,
  request: StoredRequest,
): Promise<StoredConsumption | undefined> {
  if (!settings.extensions.consume || request.status !== "approved") return undefined;
  return readConsumption(store, request);
}
