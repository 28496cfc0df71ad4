/** Stores whose transactions a test delays, or lets fail. */

import type { Store } from "../../src/storage/store.ts";

/** @param around calls its argument to run the transaction, and awaits it */
export function aroundTransactions(
  store: Store,
  around: (transact: () => Promise<void>) => Promise<void>,
): Store {
  const transact: Store["transact"] = async (...work) => {
    let result: unknown;
    await around(async () => {
      result = await store.transact(...work);
    });
    return result as never;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "transact") return transact;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** The first transaction fails with this message. */
export function failingOnce(store: Store, message: string): Store {
  let hasFailed = false;
  return aroundTransactions(store, async (transact) => {
    if (hasFailed) return transact();
    hasFailed = true;
    throw new Error(message);
  });
}
