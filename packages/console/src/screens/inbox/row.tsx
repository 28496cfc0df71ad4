/** One call, or several that are the same, in the inbox. It leads to where it is decided. */

import { useComputed } from "@preact/signals";
import { Component } from "preact";
import { Text } from "../../exact/text.tsx";
import { isDecidable, type PendingRequest } from "../../live/pending-request.ts";
import { Icon } from "../../parts/icon.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { TimeLeft } from "../../parts/time-left.tsx";
import { collectsVotes } from "../../requests/words.ts";
import { href } from "../../route.ts";
import { now } from "../../time.ts";
import { Held } from "./held-verdict.tsx";
import { RISK_WORDS, type Risk, reasonOf, riskOf } from "./risk.ts";

/** Letters of the arguments in a row. */
const SHOWN_MAX = 160;

export interface RowActions {
  pick(ids: readonly PendingRequest[]): void;
  unfold(key: string): void;
}

export interface RowProps {
  readonly groupKey: string;
  /** All of a group: decided on one row, and opened by the one that ends first. */
  readonly first: PendingRequest;
  readonly requests: readonly PendingRequest[];
  readonly isCurrent: boolean;
  readonly isPicked: boolean;
  readonly isUnfolded: boolean;
  /** Stays the same object. */
  readonly actions: RowActions;
}

/** Is drawn anew only when something in it has changed: there may be hundreds. */
export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: Readonly<RowProps>): boolean {
    const { props } = this;
    return (
      next.first !== props.first ||
      next.isCurrent !== props.isCurrent ||
      next.isPicked !== props.isPicked ||
      next.isUnfolded !== props.isUnfolded ||
      next.requests.length !== props.requests.length ||
      next.requests.some((request, index) => request !== props.requests[index])
    );
  }

  override render() {
    const { first, requests, groupKey, isCurrent, isPicked, isUnfolded, actions } = this.props;
    const canDecide = requests.some(isDecidable);
    return (
      <li class={isCurrent ? "row current" : "row"} data-key={groupKey} data-id={first.id}>
        {canDecide && (
          <label class="pick">
            <input type="checkbox" checked={isPicked} onChange={() => actions.pick(requests)} />
            <span class="spoken">
              Select <Text>{first.tool}</Text>
            </span>
          </label>
        )}
        <RowLink
          request={first}
          count={requests.length}
          claim={requests.find(({ claim }) => claim !== undefined)?.claim}
        />
        {requests.length > 1 && (
          <Members
            requests={requests}
            isUnfolded={isUnfolded}
            onToggle={() => actions.unfold(groupKey)}
          />
        )}
      </li>
    );
  }
}

interface RowLinkProps {
  readonly request: PendingRequest;
  readonly count: number;
  /** Of any request of the row. */
  readonly claim: PendingRequest["claim"];
}

function RowLink({ request, count, claim }: RowLinkProps) {
  const { id, tool, server, instance, deadlineAt, may_decide, held } = request;
  const reason = may_decide.approve ? undefined : may_decide.reason;
  return (
    <a class="row-link" href={href(`/inbox/${id}`)}>
      <RiskMark risk={riskOf(request)} />
      <span class="row-head">
        <span class="tool">
          <Text>{tool}</Text>
        </span>
        <OnServer server={server} />
        {count > 1 && <span class="badge times">× {count}</span>}
        {held !== undefined && <Held held={held} />}
        {claim !== undefined && <ClaimMark claim={claim} />}
      </span>
      <TimeLeft until={deadlineAt} />
      <ArgumentsLine source={request.argumentsSource} />
      <span class="row-foot">
        <span class="from">
          <Text>{instance.name || instance.id}</Text>
        </span>
        <span class="why">
          <span class="spoken">Reason: </span>
          <Text>{reasonOf(request)}</Text>
        </span>
        <Votes request={request} />
        {reason !== undefined && <span class="reason">{reason}</span>}
      </span>
    </a>
  );
}

/** The reviewer who reviews the request, until the end of the claim. */
function ClaimMark({ claim }: { readonly claim: NonNullable<PendingRequest["claim"]> }) {
  const isCurrent = useComputed(() => now.value < Date.parse(claim.until)).value;
  if (!isCurrent) return null;
  return (
    <span class="badge claim">
      <Text>{claim.own ? "You review it" : `${claim.reviewer} reviews it`}</Text>
    </span>
  );
}

const SHAPES: Readonly<Record<Risk, string>> = {
  high: "M8 1.5L15 14H1z",
  raised: "M8 1l7 7-7 7-7-7z",
  usual: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z",
};

/** Shape, word and colour say the same. */
function RiskMark({ risk }: { readonly risk: Risk }) {
  return (
    <span class={`risk ${risk}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path d={SHAPES[risk]} />
      </svg>
      <span>
        {RISK_WORDS[risk]}
        <span class="spoken"> checks</span>
      </span>
    </span>
  );
}

/** The beginning of the exact text, and how much is left out. */
function ArgumentsLine({ source }: { readonly source: string }) {
  // No letter of the text is cut in two.
  const letters = [...source.slice(0, 2 * SHOWN_MAX)].slice(0, SHOWN_MAX).join("");
  const rest = source.length - letters.length;
  return (
    <span class="line">
      <span class="line-text">
        <Text>{letters.replaceAll("\n", " ")}</Text>
      </span>
      {rest > 0 && <span class="line-rest">{rest.toLocaleString("en")} more characters</span>}
    </span>
  );
}

function Votes({ request: { requirement, votes } }: { readonly request: PendingRequest }) {
  if (!collectsVotes(requirement)) return null;
  const count = `${votes.length}/${Math.max(requirement.quorum, requirement.from.length)}`;
  return <span class="votes">{count} votes</span>;
}

interface MembersProps {
  readonly requests: readonly PendingRequest[];
  readonly isUnfolded: boolean;
  onToggle(): void;
}

/** The calls of a group, each with its own address and deadline. */
function Members({ requests, isUnfolded, onToggle }: MembersProps) {
  return (
    <div class="members">
      <button type="button" class="quiet fold" aria-expanded={isUnfolded} onClick={onToggle}>
        <Icon name="chevron" /> {isUnfolded ? "Hide" : "Show"} the {requests.length} calls
      </button>
      {isUnfolded && (
        <ol>
          {requests.map(({ id, created_at, deadlineAt }) => (
            <li key={id}>
              <a href={href(`/inbox/${id}`)}>
                <code>{id}</code>
              </a>
              <time dateTime={created_at}>{new Date(created_at).toLocaleTimeString()}</time>
              <TimeLeft until={deadlineAt} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
