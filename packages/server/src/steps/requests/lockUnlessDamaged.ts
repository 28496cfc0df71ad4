import type { ResolvableRequest } from "../../core/request.ts";
import { Failure } from "../../failure.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import { lockForResolution } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";

/** A damaged row must not prevent others from expiring, although reading it fails. */
export async function lockUnlessDamaged(
  tx: Transaction,
  key: RowKey,
): Promise<ResolvableRequest | undefined> {
  try {
    return await lockForResolution(tx, key);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
