/** Handlers of the policy of a project, and of the baseline policy of the server. */

import { invalidField, Problem } from "@countersign/protocol";
import {
  type BodyReceived,
  type Moment,
  type PolicyRows,
  type policy,
  SIMULATION,
  writeCursor,
  writeJson,
} from "@countersign/review-api";
import type { Context } from "../../context.ts";
import { disconnectSignal, sendJsonLines } from "../../http/exchange.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import type { PolicyScope } from "../../identity/policy-authority.ts";
import { checkPolicy } from "../../operations/policy/checkPolicy.ts";
import { listPolicyVersions } from "../../operations/policy/listPolicyVersions.ts";
import { listProposals, showProposal } from "../../operations/policy/listProposals.ts";
import { type ProposalOrder, proposePolicy } from "../../operations/policy/proposePolicy.ts";
import { type PublishOutcome, publishPolicy } from "../../operations/policy/publishPolicy.ts";
import { publishProposal } from "../../operations/policy/publishProposal.ts";
import { rejectProposal } from "../../operations/policy/rejectProposal.ts";
import { rollbackPolicy } from "../../operations/policy/rollbackPolicy.ts";
import { showPolicy, showTwoPerson } from "../../operations/policy/showPolicy.ts";
import { showPolicyUsage } from "../../operations/policy/showPolicyUsage.ts";
import { type SimulationOrder, simulatePolicy } from "../../operations/policy/simulatePolicy.ts";
import { suggestRules } from "../../operations/policy/suggestRules.ts";
import { ConcurrencyLimiter } from "../shared/concurrency-limiter.ts";
import { ExaminationQueues } from "./examination-queues.ts";
import {
  toWireOutline,
  toWirePolicy,
  toWireProposal,
  toWireProposalOutline,
  toWirePublished,
  toWireSimulation,
  toWireSuggestions,
} from "./policy-to-wire.ts";
import { toWireRule, toWireUsage } from "./rules-to-wire.ts";

const SIMULATIONS = {
  totalMax: 2,
  sameKey: "Another simulation of this project is running. Try again when it has finished.",
  otherKeys: "Too many simulations of other projects are running. Try again shortly.",
};

/** @param onClose calls back when the server stops */
export function policyHandlers(
  context: Context,
  onClose: (callback: () => void) => void,
): Handlers<typeof policy> {
  const simulations = new ConcurrencyLimiter(SIMULATIONS);
  onClose(() => simulations.stop());
  const queues = new ExaminationQueues();
  const handlersOf = (scope: PolicyScope): Handlers<PolicyRows> => ({
    ...versionHandlers(context, scope, queues),
    ...draftHandlers(context, scope, queues, simulations),
    ...proposalHandlers(context, scope, queues),
  });
  const project = handlersOf("project");
  const floor = handlersOf("floor");
  return {
    showPolicyUsage: async ({ caller }) => toWireUsage(await showPolicyUsage(context, caller)),
    showPolicy: project.show,
    listPolicyVersions: project.versions,
    showPolicyVersion: project.version,
    publishPolicy: project.publish,
    rollbackPolicy: project.rollback,
    checkPolicy: project.check,
    simulatePolicy: project.simulate,
    async suggestRules({ caller, reply }) {
      const gone = disconnectSignal(reply);
      return simulations.run(caller.projectId, async (stopping) => {
        const signal = AbortSignal.any([stopping, gone]);
        return toWireSuggestions(await suggestRules(context, caller, signal));
      });
    },
    listPolicyProposals: project.proposals,
    showPolicyProposal: project.proposal,
    proposePolicy: project.propose,
    publishPolicyProposal: project.publishProposal,
    rejectPolicyProposal: project.rejectProposal,
    showFloor: floor.show,
    listFloorVersions: floor.versions,
    showFloorVersion: floor.version,
    publishFloor: floor.publish,
    rollbackFloor: floor.rollback,
    checkFloor: floor.check,
    simulateFloor: floor.simulate,
    listFloorProposals: floor.proposals,
    showFloorProposal: floor.proposal,
    proposeFloor: floor.propose,
    publishFloorProposal: floor.publishProposal,
    rejectFloorProposal: floor.rejectProposal,
  };
}

function versionHandlers(
  context: Context,
  scope: PolicyScope,
  queues: ExaminationQueues,
): Handlers<Pick<PolicyRows, "show" | "versions" | "version" | "publish" | "rollback">> {
  return {
    async show({ caller }) {
      const published = await showPolicy(context, caller, scope);
      return toWirePolicy(scope, published, await showTwoPerson(context, caller, scope));
    },

    async versions({ caller, query: { limit, after: below = Number.MAX_SAFE_INTEGER } }) {
      const page = await listPolicyVersions(context, caller, scope, { below, limit });
      return { versions: page.versions.map(toWireOutline), next: page.next ?? null };
    },

    async version({ caller, path: { number } }) {
      if (!/^[1-9]\d{0,14}$/.test(number)) throw new Problem("not_found");
      const published = await showPolicy(context, caller, scope, Number(number));
      return toWirePolicy(scope, published, false);
    },

    async publish({ caller, body }) {
      const { source, expected_number: expectedNumber, note = null } = body;
      const publication = { scope, source, expectedNumber, note };
      const published = await queues.runPublication(caller, scope, () =>
        publishPolicy(context, caller, publication),
      );
      return answerOf(published);
    },

    async rollback({ caller, body }) {
      const { number, expected_number: expectedNumber, note = null } = body;
      const order = { scope, number, expectedNumber, note };
      const published = await queues.runPublication(caller, scope, () =>
        rollbackPolicy(context, caller, order),
      );
      return answerOf(published);
    },
  };
}

function draftHandlers(
  context: Context,
  scope: PolicyScope,
  queues: ExaminationQueues,
  simulations: ConcurrencyLimiter,
): Handlers<Pick<PolicyRows, "check" | "simulate">> {
  return {
    async check({ caller, body }) {
      const examine = () => checkPolicy(context, caller, scope, body.source);
      const { outlines, ...check } = await queues.runCheck(caller, scope, examine);
      const { rules, findings, warnings, tests } = check;
      const valid = findings.length === 0;
      return { valid, rules, outlines: outlines.map(toWireRule), findings, warnings, tests };
    },

    async simulate({ caller, body, request, reply }) {
      const order = simulationOf(scope, body, context.clock.now());
      return simulations.run(caller.projectId, (stopping) =>
        sendJsonLines(request, reply, (output) =>
          simulatePolicy(context, caller, order, {
            emit: (event) => output.write(writeJson(toWireSimulation(event))),
            signal: AbortSignal.any([stopping, output.signal]),
          }),
        ),
      );
    },
  };
}

type ProposalRows = Pick<
  PolicyRows,
  "proposals" | "proposal" | "propose" | "publishProposal" | "rejectProposal"
>;

function proposalHandlers(
  context: Context,
  scope: PolicyScope,
  queues: ExaminationQueues,
): Handlers<ProposalRows> {
  return {
    async proposals({ caller, query }) {
      const page = await listProposals(context, caller, scope, query);
      return {
        proposals: page.proposals.map(toWireProposalOutline),
        next: writeCursor(page.next),
      };
    },

    async proposal({ caller, path }) {
      return toWireProposal(await showProposal(context, caller, scope, path.id));
    },

    async propose({ caller, body }) {
      const order = proposalOf(scope, body);
      const propose = () => proposePolicy(context, caller, order);
      const proposed = await queues.runPublication(caller, scope, propose);
      return { status: proposed.isNew ? 201 : 200, body: toWireProposal(proposed) };
    },

    async publishProposal({ caller, path }) {
      const publish = () => publishProposal(context, caller, scope, path.id);
      return answerOf(await queues.runPublication(caller, scope, publish));
    },

    async rejectProposal({ caller, path: { id }, body: { note = null } }) {
      return toWireProposal(await rejectProposal(context, caller, { scope, id, note }));
    },
  };
}

function answerOf(published: PublishOutcome) {
  const status = published.outcome === "published" ? 201 : 200;
  return { status, body: toWirePublished(published) } as const;
}

/**
 * @param now milliseconds since 1970
 * @throws Problem `invalid_request` that names the field
 */
function simulationOf(
  scope: PolicyScope,
  body: BodyReceived<PolicyRows["simulate"]>,
  now: number,
): SimulationOrder {
  const { source, instance_id: instanceId, limit, examples } = body;
  const since = timeOf(body.since, now) ?? now - SIMULATION.sinceMsDefault;
  const until = timeOf(body.until, now) ?? now + 1;
  if (until < since) throw invalidField("until", "must not be before since");
  return { scope, source, since, until, instanceId, limit, examples };
}

function timeOf(moment: Moment | undefined, now: number): number | undefined {
  if (moment === undefined) return undefined;
  return "at" in moment ? moment.at : Math.max(0, now - moment.agoMs);
}

/** @throws Problem `invalid_request` that names the field */
function proposalOf(scope: PolicyScope, body: BodyReceived<PolicyRows["propose"]>): ProposalOrder {
  const { source, restores, expected_number: expectedNumber, note = null } = body;
  if (restores !== undefined) {
    if (source !== undefined) {
      throw invalidField("restores", "cannot be combined with source");
    }
    return { scope, content: { restores }, expectedNumber, note };
  }
  if (source === undefined) throw invalidField("source", "is required");
  return { scope, content: { source }, expectedNumber, note };
}
