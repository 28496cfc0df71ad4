/** Open proposals: compared, simulated, published or rejected. */

import type { PolicyPath, ProposalOutline, ShownPolicy } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { When } from "../../parts/when.tsx";
import { lineDiff } from "../../previews/line-diff.ts";
import { session } from "../../session.ts";
import { publishProposal, readProposedSource, rejectProposal, sourceOf } from "./policy-api.ts";
import { Simulation } from "./simulation.tsx";

interface ProposalsProps {
  readonly scope: PolicyPath;
  readonly active: ShownPolicy;
  readonly proposals: readonly ProposalOutline[];
  readonly mayPublish: boolean;
  /** Called when a proposal was published or rejected. */
  onChange(): void;
}

export function Proposals({ proposals, ...rest }: ProposalsProps) {
  if (proposals.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="proposals-title">
      <h2 id="proposals-title">
        {proposals.length === 1 ? "1 open proposal" : `${proposals.length} open proposals`}
      </h2>
      <ul class="proposals">
        {proposals.map((proposal) => (
          <ProposalRow key={proposal.id} {...rest} proposal={proposal} />
        ))}
      </ul>
    </section>
  );
}

interface ProposalRowProps extends Omit<ProposalsProps, "proposals"> {
  readonly proposal: ProposalOutline;
}

function ProposalRow({ scope, active, proposal, mayPublish, onChange }: ProposalRowProps) {
  const [source, setSource] = useState<string>();
  const { id, state, note, sha256, tests, proposed_at: at, proposer } = proposal;
  const isMine = proposal.proposed_by === `reviewer:${session.value?.project?.reviewer.id}`;
  return (
    <li>
      <div class="version-head">
        <strong>{isMine ? "Yours" : <Text>{proposer ?? "A user of another project"}</Text>}</strong>
        {state === "outdated" && <span class="badge">outdated</span>}
        <span class="hint">
          <When at={at} />, from {from(proposal)}, {passed(tests)}
        </span>
      </div>
      {note !== undefined && (
        <p>
          <Text>{note}</Text>
        </p>
      )}
      {state === "outdated" && (
        <p class="hint">
          Version {active.number} has become active since. Propose this change again.
        </p>
      )}
      <div class="actions">
        <Button
          onPress={async () =>
            setSource(source === undefined ? await readProposedSource(scope, id) : undefined)
          }
        >
          {source === undefined ? "Review" : "Hide"}
        </Button>
      </div>
      {source !== undefined && (
        <div class="stack">
          <DiffLines hunks={lineDiff(sourceOf(active) ?? "", source)} />
          <p class="hint">
            SHA-256 <code>{sha256}</code>
          </p>
          {mayPublish && <Simulation scope={scope} source={source} />}
          {mayPublish && (
            <Closing scope={scope} proposal={proposal} isMine={isMine} onChange={onChange} />
          )}
        </div>
      )}
    </li>
  );
}

function from({ base_number: number }: ProposalOutline): string {
  return number === 0 ? "no version" : `version ${number}`;
}

function passed(tests: number): string {
  if (tests === 0) return "without tests";
  return tests === 1 ? "its test passed" : `its ${tests} tests passed`;
}

interface ClosingProps extends Pick<ProposalsProps, "scope" | "onChange"> {
  readonly proposal: ProposalOutline;
  readonly isMine: boolean;
}

function Closing({ scope, proposal, isMine, onChange }: ClosingProps) {
  const [reason, setReason] = useState("");
  const { id, state, refusal } = proposal;
  // Another person may have been faster.
  const acting = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } finally {
      onChange();
    }
  };
  return (
    <>
      {refusal !== undefined && <p class="note">{refusal}</p>}
      {!isMine && (
        <div class="field">
          <label for={`reason-${id}`}>Reason for rejecting (optional)</label>
          <input
            id={`reason-${id}`}
            maxLength={1000}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </div>
      )}
      <div class="actions apart">
        <Button kind="danger" onPress={() => acting(() => rejectProposal(scope, id, reason))}>
          {isMine ? "Withdraw" : "Reject"}
        </Button>
        {refusal === undefined && state === "open" && (
          <Button kind="primary" onPress={() => acting(() => publishProposal(scope, id))}>
            Publish
          </Button>
        )}
      </div>
    </>
  );
}
