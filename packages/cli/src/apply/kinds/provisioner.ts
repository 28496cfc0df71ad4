/** Programs that create agents. A new one receives a token. */

import type { Token } from "@countersign/review-api";
import * as v from "valibot";
import type { Kind } from "../kind.ts";
import { duration, sorted, text } from "../schemas.ts";
import { type Step, secretFileOf } from "../step.ts";

const schema = v.strictObject({
  kind: v.literal("Provisioner"),
  name: text,
  /** Of a new token. */
  expires_in: v.optional(duration),
});

type ProvisionerSpec = v.InferOutput<typeof schema>;

export const provisioner: Kind<ProvisionerSpec> = {
  kind: "Provisioner",
  schema,
  file: "provisioners.yaml",
  nameOf: ({ name }) => name,

  plan({ documents, actual }) {
    const tokens = ofProvisioners(actual.tokens);
    const known = holdersOf(tokens);
    return {
      steps: documents
        .of(provisioner)
        .filter(({ name }) => !known.includes(name))
        .map(({ spec }) => create(spec)),
      surplus: known
        .filter((name) => documents.has(provisioner) && !documents.find(provisioner, name))
        .map((name) => revoke(name, tokens)),
    };
  },

  export({ tokens }) {
    const names = holdersOf(ofProvisioners(tokens));
    return { documents: names.map((name) => ({ kind: "Provisioner", name })) };
  },
};

function ofProvisioners(tokens: readonly Token[]): readonly Token[] {
  return tokens.filter(({ kind }) => kind === "provisioner");
}

/** The provisioners that have a valid token. */
function holdersOf(tokens: readonly Token[]): string[] {
  return sorted(tokens.map(({ holder }) => holder.name));
}

function create({ name, expires_in }: ProvisionerSpec): Step {
  return {
    verb: "create",
    kind: "Provisioner",
    name,
    details: expires_in === undefined ? [] : [`expires_in: ${expires_in}`],
    secretFile: secretFileOf("Provisioner", name, "token"),
    async run(api) {
      const body = { kind: "provisioner" as const, name, expires_in };
      const { token } = await api.call("POST /tokens", { body });
      return { secret: token };
    },
  };
}

function revoke(name: string, tokens: readonly Token[]): Step {
  const own = tokens.filter(({ holder }) => holder.name === name);
  return {
    verb: "delete",
    kind: "Provisioner",
    name,
    details: [own.length === 1 ? "revokes its token" : `revokes its ${own.length} tokens`],
    async run(api) {
      for (const { id } of own) await api.call("DELETE /tokens/{id}", { path: { id } });
      return {};
    },
  };
}
