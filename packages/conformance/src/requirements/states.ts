import type { RequirementTable } from "./requirement.ts";

const REQUEST = "States, Approval request";
const INSTANCE = "States, Instance";
const OTHER = "States, Other rules";

export const STATES = {
  "states.request.approved": {
    source: REQUEST,
    text: "An approval by the provider makes a pending request `approved`.",
    check: "scenario",
  },
  "states.request.denied": {
    source: REQUEST,
    text: "A denial by the provider makes a pending request `denied`.",
    check: "scenario",
  },
  "states.request.expired": {
    source: REQUEST,
    text: "A request that nobody decides within its accepted window becomes `expired`.",
    check: "scenario",
  },
  "states.request.expired.not-early": {
    source: REQUEST,
    text: "A request does not expire before its `deadline_at`.",
    check: "scenario",
  },
  "states.request.no-late-decision": {
    source: REQUEST,
    text: "A request whose window has passed is not approved or denied any more.",
    check: "scenario",
  },
  "states.request.cancelled": {
    source: REQUEST,
    text: "A cancellation by the creating instance makes a pending request `cancelled`.",
    check: "scenario",
  },
  "states.request.one-outcome": {
    source: REQUEST,
    text:
      "Of decision, cancellation and expiry at the same time one wins, and every answer tells " +
      "it.",
    check: "scenario",
  },
  "states.request.terminal": {
    source: `${OTHER}, 1`,
    text: "A terminal decision is never changed.",
    check: "scenario",
  },
  "states.request.terminal-after-deletion": {
    source: `${OTHER}, 1`,
    text: "A terminal decision is not changed when its instance is deleted.",
    untestable: "deletion revokes every credential that could read the request",
  },
  "states.poll.still-pending": {
    source: `${OTHER}, 2`,
    text: "A poll whose wait has passed answers the request, still pending.",
    check: "scenario",
  },
  "states.poll.deadline": {
    source: `${OTHER}, 2`,
    text: "Polling does not extend the deadline.",
    check: "scenario",
  },
  "states.running-tool": {
    source: `${OTHER}, 3`,
    text: "Deleting an instance does not stop a tool execution that has begun.",
    untestable: "a provider does not run tools",
  },
  "states.instance.update.refused": {
    source: INSTANCE,
    text: "An update that is refused changes nothing, the name included.",
    check: "scenario",
  },
  "states.instance.deletion.pending": {
    source: INSTANCE,
    text:
      "Deleting an instance cancels its pending requests, which ends polls that are held on " +
      "them.",
    check: "scenario",
  },
  "states.instance.deletion.serialised": {
    source: INSTANCE,
    text: "A deletion beside creations leaves no credential with which one more could be made.",
    check: "scenario",
  },
  "states.instance.deletion.beside-decisions": {
    source: INSTANCE,
    text: "A deletion beside decisions leaves no credential, and tells of no cancellation.",
    check: "scenario",
  },
  "states.instance.deletion.wins": {
    source: INSTANCE,
    text: "A deletion takes precedence over an update that is still being verified.",
    check: "scenario",
  },
} as const satisfies RequirementTable;
