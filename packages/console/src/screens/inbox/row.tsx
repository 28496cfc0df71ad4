/** One call, or several that are the same, in the inbox. It leads to where it is decided. */

import { useComputed } from "@preact/signals";
import { Component } from "preact";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { isDecidable, type PendingRequest } from "../../live/pending-request.ts";
import { Icon } from "../../parts/icon.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { TimeLeft } from "../../parts/time-left.tsx";
import { When } from "../../parts/when.tsx";
import { addressOf } from "../../requests/address-of.ts";
import { CallLine } from "../../requests/call-line.tsx";
import { SignalChips } from "../../requests/signals.tsx";
import { collectsVotes } from "../../requests/words.ts";
import { href } from "../../route.ts";
import { now } from "../../time.ts";
import { valueAt } from "./groups.ts";
import { Held } from "./held-verdict.tsx";
import { RISK_WORDS, type Risk, reasonOf, riskOf } from "./risk.ts";

export interface RowActions {
  pick(requests: readonly PendingRequest[]): void;
  /** Selects everything from the latest selected row to this one. */
  pickTo(key: string): void;
  pickAll(): void;
  unfold(key: string): void;
}

export interface RowProps {
  readonly groupKey: string;
  /** All of a group: decided on one row, and opened by the one that ends first. */
  readonly first: PendingRequest;
  readonly requests: readonly PendingRequest[];
  /** The only argument in which they differ. */
  readonly differing: string | undefined;
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
    const { first, requests, differing, groupKey, isCurrent, isPicked, isUnfolded, actions } =
      this.props;
    const canDecide = requests.some(isDecidable);
    return (
      <li class={isCurrent ? "row current" : "row"} data-key={groupKey} data-id={first.id}>
        {canDecide && (
          <label class="pick">
            <input type="checkbox" checked={isPicked} onChange={() => actions.pick(requests)} />
            <span class="spoken">
              <Text>{t`Select ${first.tool} by ${first.instance.name || first.instance.id}`}</Text>
            </span>
          </label>
        )}
        <RowLink
          request={first}
          count={requests.length}
          differing={differing}
          claim={requests.find(({ claim }) => claim !== undefined)?.claim}
        />
        {requests.length > 1 && (
          <Members
            requests={requests}
            differing={differing}
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
  readonly differing: string | undefined;
  /** Of any request of the row. */
  readonly claim: PendingRequest["claim"];
}

function RowLink({ request, count, differing, claim }: RowLinkProps) {
  const { tool, server, instance, deadlineAt, may_decide, held } = request;
  const reason = may_decide.approve ? undefined : may_decide.reason;
  return (
    <a class="row-link" href={href(`/inbox/${addressOf(request)}`)}>
      <RiskMark risk={riskOf(request)} />
      <span class="row-head">
        <span class="tool">
          <Text>{tool}</Text>
        </span>
        <OnServer server={server} />
        {count > 1 && <span class="badge times">× {count}</span>}
        {differing !== undefined && (
          <span class="badge differing">{rich`different ${<Text>{differing}</Text>}`}</span>
        )}
        {held !== undefined && <Held held={held} />}
        {claim !== undefined && <ClaimMark claim={claim} />}
        <SignalChips signals={request.signals} />
      </span>
      <TimeLeft until={deadlineAt} />
      <CallLine line={request.line} argumentsSource={request.argumentsSource} />
      <span class="row-foot">
        <span class="from">
          <Text>{instance.name || instance.id}</Text>
        </span>
        <span class="why">
          <span class="spoken">{t`Reason: `}</span>
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
      <Text>{claim.own ? t`You review it` : t`${claim.reviewer} reviews it`}</Text>
    </span>
  );
}

const SHAPES: Readonly<Record<Exclude<Risk, "usual">, string>> = {
  high: "M8 1.5L15 14H1z",
  raised: "M8 1l7 7-7 7-7-7z",
};

/** Shape, word and colour say the same. A call that any reviewer approves by a click has none. */
function RiskMark({ risk }: { readonly risk: Risk }) {
  if (risk === "usual") return null;
  return (
    <span class={`risk ${risk}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path d={SHAPES[risk]} />
      </svg>
      <span>
        {RISK_WORDS[risk]}
        <span class="spoken">{t` checks`}</span>
      </span>
    </span>
  );
}

function Votes({ request: { requirement, votes } }: { readonly request: PendingRequest }) {
  if (!collectsVotes(requirement)) return null;
  const count = `${votes.length}/${Math.max(requirement.quorum, requirement.from.length)}`;
  return <span class="votes">{t`${count} votes`}</span>;
}

interface MembersProps {
  readonly requests: readonly PendingRequest[];
  readonly differing: string | undefined;
  readonly isUnfolded: boolean;
  onToggle(): void;
}

/** The calls of a group, each with its own address and deadline. */
function Members({ requests, differing, isUnfolded, onToggle }: MembersProps) {
  return (
    <div class="members">
      <button type="button" class="quiet fold" aria-expanded={isUnfolded} onClick={onToggle}>
        <Icon name="chevron" />{" "}
        {isUnfolded ? t`Hide the ${requests.length} calls` : t`Show the ${requests.length} calls`}
      </button>
      {isUnfolded && (
        <ol>
          {requests.map((request) => (
            <li key={request.id}>
              <a href={href(`/inbox/${addressOf(request)}`)}>
                <code>
                  <Text>
                    {differing === undefined ? addressOf(request) : valueAt(request, differing)}
                  </Text>
                </code>
              </a>
              <When at={request.created_at} />
              <TimeLeft until={request.deadlineAt} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
