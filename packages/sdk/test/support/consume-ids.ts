/**
 * A process that consumes ids and prints those that it consumed, one a line.
 *
 *   node consume-ids.ts KIND ADDRESS COUNT
 */

import { openStore, type StoreKind } from "./open-store.ts";

const [kind = "", address = "", count = ""] = process.argv.slice(2);
const { store, close } = await openStore(kind as StoreKind, address);
const ids = Array.from({ length: Number(count) }, (_, i) => `id ${i}`);
for (const id of ids) if (await store.consume(id)) console.log(id);
await close();
