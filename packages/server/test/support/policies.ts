/**
 * Policies activated as an operator's program would: past the reviewer surface, for tests of
 * what policy decides.
 */

import { createHash } from "node:crypto";
import { type Judgement, readJudgement } from "../../src/policy/judgement.ts";
import {
  insertPolicyVersion,
  readPolicyNumber,
} from "../../src/storage/sql/policy/policy-versions.ts";
import type { TestProvider } from "./test-provider.ts";

/** The whole server, in place of a project's name. */
export const FLOOR = Symbol("floor");

/** @returns the number of the version, which is active from now on */
export async function enforce(
  { provider }: TestProvider,
  source: string,
  project: string | typeof FLOOR = "default",
): Promise<number> {
  return provider.context.store.transact(async (tx) => {
    const row =
      project === FLOOR
        ? { id: "" }
        : await tx.get("select id from project where name = $1", [project]);
    const projectId = String(row?.id);
    const number = (await readPolicyNumber(tx, projectId)) + 1;
    await insertPolicyVersion(tx, {
      projectId,
      number,
      sha256: createHash("sha256").update(source).digest("hex"),
      source,
      note: null,
      publishedAt: await tx.now(),
      publishedBy: "operator:cli",
      proposedBy: null,
      isTwoPerson: false,
    });
    return number;
  });
}

/** A policy file of these rules, each a flow mapping of YAML. */
export function policyOf(...rules: readonly string[]): string {
  const list = rules.map((rule) => `\n  - ${rule}`).join("");
  return `version: 1\nrules: ${list === "" ? "[]" : list}\n`;
}

/** How policy judged a request, as it is stored. */
export async function judgementOf({ provider }: TestProvider, id: string): Promise<Judgement> {
  const row = await provider.context.store.get("select policy from request where id = $1", [id]);
  return readJudgement((row?.policy ?? null) as string | null);
}
