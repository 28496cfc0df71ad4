import assert from "node:assert/strict";
import { test } from "node:test";
import { Failure } from "../../failure.ts";
import { Integrity } from "../integrity.ts";
import type { Row } from "../store.ts";
import { assertUsable } from "./assert-usable.ts";
import { POSTGRES_SEARCH } from "./search-index.ts";

const USABLE = {
  version: "180000",
  encoding: "UTF8",
  synchronous_commit: "on",
  fsync: "on",
  lock_timeout: "5s",
  statement_timeout: "10s",
  idle_in_transaction_session_timeout: "15s",
  is_standby: "false",
};

function readerOf(row: Row) {
  return {
    integrity: new Integrity(),
    search: POSTGRES_SEARCH,
    get: async () => row,
    getMany: async () => [row],
    all: async () => [row],
  };
}

test("a PostgreSQL server without the required guarantees is rejected with the fix", async () => {
  await assertUsable(readerOf(USABLE), false);
  const refused: [Partial<typeof USABLE>, RegExp][] = [
    [{ version: "140010" }, /15 or newer/],
    [{ encoding: "LATIN1" }, /UTF8/],
    [{ is_standby: "true" }, /name the primary/],
    [{ lock_timeout: "0" }, /lock_timeout is 0.* set lock_timeout = '5s'/],
    [{ statement_timeout: "0" }, /statement_timeout is 0.* set statement_timeout = '10s'/],
    [{ idle_in_transaction_session_timeout: "0" }, /idle_in_transaction.* = '15s'/],
    [{ synchronous_commit: "off" }, /synchronous_commit is off/],
    [{ fsync: "off" }, /fsync is off/],
  ];
  for (const [change, says] of refused) {
    await assert.rejects(
      assertUsable(readerOf({ ...USABLE, ...change }), false),
      (error) => error instanceof Failure && says.test(error.message),
    );
  }
  await assertUsable(readerOf({ ...USABLE, fsync: "off" }), true);
});
