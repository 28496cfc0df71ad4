/** Open proposals: compared, simulated, published or rejected. */

import type { PolicyPath, ProposalOutline, ShownPolicy } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff-lines.tsx";
import { When } from "../../parts/when.tsx";
import { lineDiff } from "../../previews/line-diff.ts";
import { session } from "../../session.ts";
import { ActivationQuestion, type Outcome } from "./activation.tsx";
import { publishProposal, readProposedSource, rejectProposal, sourceOf } from "./policy-api.ts";
import { Simulation } from "./simulation.tsx";

interface ProposalsProps {
  readonly scope: PolicyPath;
  readonly active: ShownPolicy;
  readonly proposals: readonly ProposalOutline[];
  readonly mayPublish: boolean;
  /** Called when a proposal was published or rejected. */
  onChange(outcome?: Outcome): void;
}

export function Proposals({ proposals, ...rest }: ProposalsProps) {
  if (proposals.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="proposals-title">
      <h2 id="proposals-title">
        {plural(proposals.length, { one: "1 open proposal", other: "# open proposals" })}
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
        <strong>
          {isMine ? t`Yours` : <Text>{proposer ?? t`A user of another project`}</Text>}
        </strong>
        {state === "outdated" && <span class="badge">{t`outdated`}</span>}
        <span class="hint">
          <When at={at} />, {from(proposal)}, {passed(tests)}
        </span>
      </div>
      {note !== undefined && (
        <p>
          <Text>{note}</Text>
        </p>
      )}
      {state === "outdated" && (
        <p class="hint">
          {t`Version ${String(active.number)} has become active since. Propose this change again.`}
        </p>
      )}
      <div class="actions">
        <Button
          onPress={async () =>
            setSource(source === undefined ? await readProposedSource(scope, id) : undefined)
          }
        >
          {source === undefined ? t`Review` : t`Hide`}
        </Button>
      </div>
      {source !== undefined && (
        <div class="stack">
          <DiffLines hunks={lineDiff(sourceOf(active) ?? "", source)} />
          <p class="hint">{rich`SHA-256 ${<code>{sha256}</code>}`}</p>
          {mayPublish && <Simulation scope={scope} source={source} />}
          {mayPublish && (
            <Closing
              scope={scope}
              active={active}
              source={source}
              proposal={proposal}
              isMine={isMine}
              onChange={onChange}
            />
          )}
        </div>
      )}
    </li>
  );
}

function from({ base_number: number }: ProposalOutline): string {
  return number === 0 ? t`from no version` : t`from version ${String(number)}`;
}

function passed(tests: number): string {
  if (tests === 0) return t`without tests`;
  return plural(tests, { one: "its test passed", other: "its # tests passed" });
}

interface ClosingProps extends Pick<ProposalsProps, "scope" | "active" | "onChange"> {
  readonly source: string;
  readonly proposal: ProposalOutline;
  readonly isMine: boolean;
}

function Closing({ scope, active, source, proposal, isMine, onChange }: ClosingProps) {
  const [reason, setReason] = useState("");
  const { id, state, refusal } = proposal;
  const [isAsking, setAsking] = useState(false);
  const acting = async (work: () => Promise<Outcome>): Promise<void> => {
    try {
      onChange(await work());
    } catch (error) {
      // Another person may have been faster.
      onChange();
      throw error;
    }
  };
  const reject = async (): Promise<Outcome> => {
    await rejectProposal(scope, id, reason);
    return { words: isMine ? t`Proposal withdrawn.` : t`Proposal rejected.` };
  };
  const publish = async (): Promise<Outcome> => {
    const { number } = await publishProposal(scope, id);
    const words = t`Version ${String(number)} is active.`;
    return { words, activated: { number, former: active.number } };
  };
  return (
    <>
      {refusal !== undefined && <p class="note">{refusal}</p>}
      {!isMine && (
        <div class="field">
          <label for={`reason-${id}`}>{t`Reason for rejecting (optional)`}</label>
          <input
            id={`reason-${id}`}
            maxLength={1000}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </div>
      )}
      <div class="actions apart">
        <Button kind="danger" onPress={() => acting(reject)}>
          {isMine ? t`Withdraw` : t`Reject`}
        </Button>
        {refusal === undefined && state === "open" && (
          <Button kind="primary" onPress={() => setAsking(true)}>
            {t`Publish`}
          </Button>
        )}
      </div>
      {isAsking && (
        <ActivationQuestion
          title={t`Publish version ${String(active.number + 1)}?`}
          lead={t`It replaces version ${String(active.number)} and applies to new calls at once.`}
          before={sourceOf(active) ?? ""}
          after={source}
          verb={t`Publish`}
          onClose={() => setAsking(false)}
          onConfirm={() => acting(publish)}
        />
      )}
    </>
  );
}
