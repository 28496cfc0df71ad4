/** Checks that a key and an input create one object. */

import type { Facts, Promised } from "../facts.ts";

export const ONE_OBJECT: Promised = {
  id: "I2",
  says: "A key and an input have one object, however often they are sent.",

  onCommit({ world, snapshot }, { changes }) {
    for (const { table, key, before, after } of changes) {
      if (table !== "instance" || before !== undefined || after === undefined) continue;
      const others = snapshot.all("instance").filter(({ id, name }) => {
        return id !== key && keyIn(name) === keyIn(after.name);
      });
      world.assert(others.length === 0, "I2", () => `${after.name} was provisioned twice`);
    }
  },

  onAnswer(facts, { call, answer: { status, code, text } }) {
    const scope = facts.scopeOf(call);
    if (scope === undefined || call.kind === "update") return;
    if (code === "idempotency_conflict") {
      const inputs = facts.sent.get(scope)?.size ?? 0;
      facts.world.assert(inputs > 1, "I2", () => `${scope} is a conflict with itself`);
    }
    if (status !== 200 && status !== 201) return;
    const object = JSON.parse(text) as AnsweredObject;
    const id = object.instance?.id ?? object.id ?? "";
    assertSame(facts, scope, id, object.credential?.token);
    if (status === 201) assertNew(facts, scope);
  },
};

/** The key of a provisioning, which the names in its inputs begin with. */
function keyIn(name: unknown): string {
  return /^"(instance \w+)/.exec(String(name))?.[1] ?? String(name);
}

interface AnsweredObject {
  readonly id?: string;
  readonly instance?: { readonly id: string };
  readonly credential?: { readonly token: string };
}

function assertSame(
  { world, firstObjects }: Facts,
  scope: string,
  id: string,
  token?: string,
): void {
  const first = firstObjects.get(scope) ?? { id, token };
  firstObjects.set(scope, first);
  const isSame = first.id === id && first.token === token;
  world.assert(isSame, "I2", () => `${scope} was given ${first.id}, and now ${id}`);
}

function assertNew({ world, news }: Facts, scope: string): void {
  const count = (news.get(scope) ?? 0) + 1;
  news.set(scope, count);
  world.assert(count === 1, "I2", () => `${scope} was said to be new ${count} times`);
}
