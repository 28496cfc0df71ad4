/**
 * Waits until the databases of this test process have answered everything. A test that owns the
 * clock moves it in steps and lets the workers have their turns in between; a database that
 * answers over a socket takes more than event loop iterations.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { Client } from "pg";

let open = 0;

/** Counts what the clients of this process wait for, by wrapping what starts it. */
function watch(name: "connect" | "query"): void {
  const original = Client.prototype[name] as (...given: unknown[]) => unknown;
  function watched(this: Client, ...given: unknown[]): unknown {
    open++;
    const callback = given.at(-1);
    if (typeof callback === "function") {
      const counted = (...result: unknown[]) => {
        open--;
        return callback(...result);
      };
      return original.call(this, ...given.slice(0, -1), counted);
    }
    const answer = original.call(this, ...given) as Promise<unknown>;
    const end = () => {
      open--;
    };
    answer.then(end, end);
    return answer;
  }
  Object.assign(Client.prototype, { [name]: watched });
}

watch("connect");
watch("query");

/** Before a lookup and between the statements of a transaction nothing is open for a few turns. */
const QUIET_TURNS = 10;

/** A statement that waits for a lock that the test holds must not hold the test. */
const PATIENCE_MS = 500;

/** Waits until no call waits for a database, at once where none of them is on a socket. */
export async function databaseIdle(): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (let quiet = 0; quiet < QUIET_TURNS && performance.now() < end; ) {
    quiet = open === 0 ? quiet + 1 : 0;
    await nextTurn();
  }
}
