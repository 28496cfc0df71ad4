/** The policy of the project and the baseline policy of the server. Their text is a file. */

import { createHash } from "node:crypto";
import type { PolicyPath } from "@countersign/review-api";
import * as v from "valibot";
import { changesTo, renderChanges } from "../../commands/policy-publish.ts";
import { sourceOf } from "../../policy-file.ts";
import type { PolicyState } from "../actual.ts";
import type { Kind } from "../kind.ts";
import { text } from "../schemas.ts";
import type { Step } from "../step.ts";

/** Documents of these kinds have no name: there is one policy of each. */
function schemaOf<const Name extends string>(kind: Name) {
  return v.strictObject({
    kind: v.literal(kind),
    /** Relative to the document. */
    policy_file: text,
    /** Stored with a new version. */
    note: v.optional(text),
  });
}

interface PolicySpec {
  readonly kind: string;
  readonly policy_file: string;
  readonly note?: string | undefined;
}

export const policy = policyKind("Policy", "policy");
export const baselinePolicy = policyKind("BaselinePolicy", "floor");

function policyKind(kind: string, scope: PolicyPath): Kind<PolicySpec> {
  const title = scope === "policy" ? "project policy" : "baseline policy";
  const own: Kind<PolicySpec> = {
    kind,
    schema: schemaOf(kind),
    file: scope === "policy" ? "policy.yaml" : "baseline-policy.yaml",
    nameOf: () => title,

    plan({ documents, actual }) {
      const steps = documents.of(own).flatMap(({ spec, policyText = "" }) => {
        const state = actual.policies[scope];
        if (sourceOf(state.current) === policyText) return [];
        return [publish(scope, title, spec, policyText, state)];
      });
      return { steps, surplus: [] };
    },

    export({ policies, project: { role } }) {
      const source = sourceOf(policies[scope].current);
      // The files of a project would otherwise decide about the whole server.
      const isForeign = scope === "floor" && role !== "operator";
      if (source === undefined || isForeign) return { documents: [] };
      const file = `policies/${scope === "policy" ? "project" : "baseline"}.yaml`;
      return { documents: [{ kind, policy_file: file }], files: { [file]: source } };
    },
  };
  return own;
}

function publish(
  scope: PolicyPath,
  title: string,
  { note }: PolicySpec,
  source: string,
  { current, proposals }: PolicyState,
): Step {
  const kind = scope === "policy" ? "Policy" : "BaselinePolicy";
  const sha256 = createHash("sha256").update(source).digest("hex");
  const open = proposals.find((one) => one.state === "open" && one.sha256 === sha256);
  const isTwoPerson = current.two_person === true;
  return {
    verb: current.number === 0 ? "create" : "change",
    kind,
    name: title,
    details: [
      ...renderChanges(changesTo(sourceOf(current), source)).split("\n"),
      ...(isTwoPerson ? ["A second person must publish it: apply only proposes it."] : []),
    ],
    waitsFor: isTwoPerson && open !== undefined ? waitFor(open.id) : undefined,
    async run(api) {
      const body = { source, expected_number: current.number, note };
      // An earlier step may have published a baseline policy that requires two people.
      const { two_person } = await api.call(`GET /${scope}`);
      if (two_person === true) {
        const { id } = await api.call(`POST /${scope}/proposals`, { body });
        return { waitsFor: waitFor(id) };
      }
      await api.call(`POST /${scope}`, { body });
      return {};
    },
  };
}

function waitFor(proposal: string): string {
  return `another person to publish the proposal ${proposal}`;
}
