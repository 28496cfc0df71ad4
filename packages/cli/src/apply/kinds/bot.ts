/** Programs that decide. A new one receives a token. */

import type { Token } from "@countersign/review-api";
import * as v from "valibot";
import type { Kind } from "../kind.ts";
import { duration, names, role, sorted, text } from "../schemas.ts";
import { type Step, secretFileOf } from "../step.ts";
import { planMembers } from "./members.ts";

const schema = v.strictObject({
  kind: v.literal("Bot"),
  name: text,
  role,
  /** Of the token that a new bot receives, like `expires_in`. */
  scopes: v.optional(names),
  expires_in: v.optional(duration),
});

export const bot: Kind<v.InferOutput<typeof schema>> = {
  kind: "Bot",
  schema,
  file: "bots.yaml",
  nameOf: ({ name }) => name,

  plan(input) {
    return planMembers(input, {
      kind: bot,
      reviewerKind: "bot",
      create({ name, spec }, groups) {
        const step: Step = {
          verb: "create",
          kind: "Bot",
          name,
          details: [
            `role: ${spec.role}`,
            ...(groups.length === 0 ? [] : [`groups: ${groups.join(", ")}`]),
            ...(spec.scopes === undefined ? [] : [`scopes: ${spec.scopes.join(", ")}`]),
          ],
          secretFile: secretFileOf("Bot", name, "token"),
          async run(api) {
            const body = {
              name,
              role: spec.role,
              groups: [...groups],
              scopes: spec.scopes,
              expires_in: spec.expires_in,
            };
            const { token } = await api.call("POST /tokens", { body });
            return { secret: token };
          },
        };
        return [step];
      },
    });
  },

  export({ reviewers, tokens }) {
    const bots = reviewers.filter(({ kind }) => kind === "bot");
    const notes: string[] = [];
    const documents = bots.map(({ id, name, role }) => {
      const own = tokens.filter(({ holder }) => holder.id === id);
      const [scopes, ...others] = new Set(own.map(scopesOf));
      if (others.length > 0) notes.push(`Omitted the scopes of Bot ${name}: its tokens differ.`);
      if (!scopes || others.length > 0) return { kind: "Bot", name, role };
      return { kind: "Bot", name, role, scopes: scopes.split(" ") };
    });
    return { documents, notes };
  },
};

/** As text, which can be compared; empty: everything that the bot may do. */
function scopesOf({ scopes }: Token): string {
  return sorted(scopes ?? []).join(" ");
}
