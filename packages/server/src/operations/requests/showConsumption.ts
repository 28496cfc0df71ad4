import type { Context } from "../../context.ts";
import type { StoredConsumption } from "../../core/consumption.ts";
import type { StoredRequest } from "../../core/request.ts";
import { readConsumption } from "../../storage/sql/requests/consumptions.ts";

/**
 * The use of an approval, for its instance. Undefined when unused, or when the operator does not
 * accept the extension, because answers then have only the contract's fields.
 */
export async function showConsumption(
  { store, settings }: Context,
  request: StoredRequest,
): Promise<StoredConsumption | undefined> {
  if (!settings.extensions.consume || request.status !== "approved") return undefined;
  return readConsumption(store, request);
}
