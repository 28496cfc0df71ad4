/**
 * The screen of one request, on which reviewers decide: its exact arguments and its live status.
 * The verdict carries the digest of the displayed text, which this page computes.
 */

import { visibleText } from "@countersign/protocol";
import "./request.css";
import { useComputed } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { connection, mine } from "../../live/live.ts";
import { FaultBoundary } from "../../parts/fault-boundary.tsx";
import { Icon } from "../../parts/icon.tsx";
import { hasInteracted } from "../../parts/interaction.ts";
import { useKeys } from "../../parts/keys.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { When } from "../../parts/when.tsx";
import { LineOfCall } from "../../requests/call-line.tsx";
import { SignalsSection } from "../../requests/signals-section.tsx";
import { outcomeOf } from "../../requests/words.ts";
import { goBackTo, hereIn, href } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";
import { session } from "../../session.ts";
import { now } from "../../time.ts";
import { Absences } from "./absences.tsx";
import { ApprovalFields } from "./approval-fields.tsx";
import { type AvailableActions, availableActions, hasUndo } from "./available-actions.ts";
import { DeniedBefore, Difference, Similar, Timeline } from "./background.tsx";
import { ClaimButton, CurrentClaim } from "./claimed.tsx";
import { Comments } from "./comments.tsx";
import { type DecidingKey, useDecidingKeys } from "./deciding-keys.ts";
import { DecisionBar } from "./decision-bar.tsx";
import { ExactArguments } from "./exact-arguments.tsx";
import { AskerFacts, Claim, ContextFacts, RuleFacts } from "./facts.tsx";
import type { Flow } from "./flow.ts";
import { MoreButton } from "./more/more-button.tsx";
import { PartPreviews, TextPreviews } from "./previews.tsx";
import { ToolChanged } from "./tool-change.tsx";
import { useAddress } from "./use-address.ts";
import { type LoadedBackground, useBackground } from "./use-background.ts";
import { type Decision, useDecision } from "./use-decision.ts";
import { type OpenRequest, type Shown, useRequest } from "./use-request.ts";

export interface RequestPaneProps {
  readonly id: string;
  /** How it leads to other requests. */
  readonly flow: Flow;
  /** Whether the list is on the page as well. */
  readonly isBesideList: boolean;
}

/** A request in the inbox. */
export function RequestPane({ id, flow, isBesideList }: RequestPaneProps) {
  // The pane beside the list is a new element; the window keeps the place of the request before.
  const opened = useRef(isBesideList);
  useLayoutEffect(() => {
    if (!opened.current) scrollTo(0, 0);
  }, []);
  return (
    <Request
      id={id}
      flow={flow}
      list={isBesideList ? undefined : { path: "/inbox", name: t`Inbox` }}
    />
  );
}

const NO_FLOW: Flow = {
  next: undefined,
  openNext() {},
  onDecided() {},
  move() {},
  back: () => goBackTo("/history"),
};

/** A request that was opened from the history. */
export function Screen({ rest: id }: ScreenProps) {
  return (
    <div class="request-pane" data-screen="request">
      <Request id={id} flow={NO_FLOW} list={{ path: "/history", name: t`History` }} />
    </div>
  );
}

interface RequestProps {
  readonly id: string;
  readonly flow: Flow;
  /** Where Back leads; undefined where the list is on the page. */
  readonly list: { readonly path: string; readonly name: string } | undefined;
}

function Request({ id, flow, list }: RequestProps) {
  const open = useRequest(id);
  const loaded = useBackground(id, open.shown?.request);
  useAddress(open.shown?.request);
  return (
    <div class="request">
      {list !== undefined && (
        <nav class="back" aria-label={t`Back`}>
          <a
            href={href(list.path)}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              flow.back();
            }}
          >
            <Icon name="back" /> {list.name}
          </a>
        </nav>
      )}
      {open.fault !== "" && (
        <p class="alert" id="fault" role="alert">
          {open.fault}
        </p>
      )}
      {open.isMissing && <OtherProjects />}
      {open.shown !== undefined && (
        <Opened id={id} open={open} shown={open.shown} loaded={loaded} flow={flow} />
      )}
    </div>
  );
}

/** An old link names no project, and may be about another one than the page. */
function OtherProjects() {
  const others = (session.value?.projects ?? []).filter(
    ({ id }) => id !== session.value?.project?.id,
  );
  return (
    <>
      <h1 tabIndex={-1}>{t`Request not found`}</h1>
      <p class="alert" role="alert">
        {t`It belongs to another project, or it was purged.`}
      </p>
      <div class="actions">
        {others.map(({ id, name }) => (
          <a key={id} class="button" href={hereIn(id)}>
            {rich`Open in ${<Text>{name}</Text>}`}
          </a>
        ))}
      </div>
    </>
  );
}

interface OpenedProps {
  readonly id: string;
  readonly open: OpenRequest;
  readonly shown: Shown;
  readonly loaded: LoadedBackground;
  readonly flow: Flow;
}

function Opened({ id, open, shown, loaded, flow }: OpenedProps) {
  const { request, argumentsText, digest } = shown;
  const { background } = loaded;
  const page = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLElement>(null);
  const [hasSeenEnd, setSeenEnd] = useState(false);
  const wasOffered = useRef(false);
  const isReady = !useIsWaiting(loaded.isLoading);
  const isPending = request.status === "pending";
  const wasDeniedBefore = isPending && (background?.denied_before ?? null) !== null;
  const decision = useDecision({ id, open, wasDeniedBefore, onDecided: flow.onDecided });
  const deadlineAt = Date.parse(request.deadline_at);
  // The page itself is not made anew with every tick of the clock.
  const isOver = useComputed(() => now.value >= deadlineAt).value;
  const isShort = useComputed(() => !hasUndo(request, now.value)).value;
  const actions = availableActions({
    request,
    hasSeenEnd,
    me: session.value?.project?.reviewer.name,
    isOver,
    isShort,
    isLive: open.isLive && connection.value !== "lost",
    isLoadingHistory: loaded.isLoading,
    wasOffered: wasOffered.current,
  });
  wasOffered.current = actions.isOffered;
  useTitle(request.tool);
  useFocusOnOpened();
  useReloadWhenCommitted(request.held?.commits_at, open.ask);
  const isSettled = useDecidingKeys({
    boundTo: `${id} ${digest}`,
    box: page,
    keys: keysOf(decision, actions),
  });
  useFlowKeys(flow);
  return (
    <>
      <div class="request-body" ref={page}>
        <FaultBoundary name={t`the call`}>
          <Call request={request} />
          <CurrentClaim request={request} onChange={open.ask} />
          <Absences request={request} />
          {wasDeniedBefore && <DeniedBefore before={background?.denied_before ?? null} />}
        </FaultBoundary>
        <FaultBoundary name={t`the change of the tool`}>
          <ToolChanged request={request} />
        </FaultBoundary>
        {isReady && (
          <>
            <FaultBoundary name={t`the signals`}>
              <SignalsSection ofCall={request.signals} ofHistory={background?.signals} />
            </FaultBoundary>
            <TextPreviews tool={request.tool} argumentsText={argumentsText} />
            <ExactArguments
              text={argumentsText}
              digest={digest}
              bar={bar}
              onEnd={() => setSeenEnd(true)}
            />
            <PartPreviews tool={request.tool} argumentsText={argumentsText} />
            {background !== undefined && (
              <FaultBoundary name={t`the difference from the last approval`}>
                <Difference background={background} argumentsText={argumentsText} />
              </FaultBoundary>
            )}
            <FaultBoundary name={t`the circumstances of the call`}>
              <Circumstances shown={shown} loaded={loaded} onChange={open.ask} />
            </FaultBoundary>
          </>
        )}
        {isReady && isPending && actions.isOffered && (
          <FaultBoundary name={t`the fields of an approval`}>
            <ApprovalFields
              shown={shown}
              decision={decision}
              wasDeniedBefore={wasDeniedBefore}
              canApprove={actions.canApprove && isSettled}
            />
          </FaultBoundary>
        )}
      </div>
      <DecisionBar
        request={request}
        actions={actions}
        decision={decision}
        isSettled={isSettled}
        flow={flow}
        wasDeniedBefore={wasDeniedBefore}
        bar={bar}
        trouble={open.isLive ? "" : open.trouble}
      />
    </>
  );
}

interface CircumstancesProps extends Pick<OpenedProps, "shown" | "loaded"> {
  /** Rereads the request. */
  onChange(): Promise<void>;
}

/** Facts and background beside the arguments. */
function Circumstances({ shown, loaded, onChange }: CircumstancesProps) {
  const { request, contextText } = shown;
  const { background, hasFailed } = loaded;
  return (
    <>
      <div class="pair">
        <RuleFacts request={request}>
          <div class="actions">
            <ClaimButton request={request} onChange={onChange} />
            <MoreButton shown={shown} />
          </div>
        </RuleFacts>
        <AskerFacts request={request} />
      </div>
      {contextText !== undefined && contextText !== "null" && (
        <ContextFacts id={request.id} text={contextText} />
      )}
      {typeof request.agent_reasoning === "string" && <Claim text={request.agent_reasoning} />}
      <Comments request={request} onChange={onChange} />
      {background !== undefined && (
        <>
          <Similar similar={background.similar} request={request} />
          <Timeline timeline={background.timeline} />
        </>
      )}
      {hasFailed && <p class="hint">{t`Earlier calls could not be loaded.`}</p>}
    </>
  );
}

function keysOf(decision: Decision, { canApprove, canDeny }: AvailableActions): DecidingKey[] {
  const isFree = decision.busy === undefined && !decision.isDenying;
  return [
    {
      key: "a",
      does: t`Approve this call; it can be undone for 5 s`,
      act: isFree && canApprove ? () => void decision.approve() : undefined,
    },
    {
      key: "d",
      does: t`Deny this call: asks for the reason`,
      act: isFree && canDeny ? decision.openDenial : undefined,
    },
  ];
}

function Call({ request }: Pick<Shown, "request">) {
  const { tool, server, instance, status, line } = request;
  const asker = (
    <strong>
      <Text>{instance.name || instance.id}</Text>
    </strong>
  );
  return (
    <header class="call">
      <h1 id="tool" tabIndex={-1}>
        <Text>{tool}</Text>
      </h1>
      <OnServer server={server} />
      {line !== undefined && (
        <p
          class="readable"
          title={t`Derived from the exact arguments, which are what you approve.`}
        >
          <LineOfCall {...line} />
        </p>
      )}
      <p class="lead">
        {status === "pending"
          ? rich`${asker} requests this call.`
          : rich`${asker} requested this call.`}
      </p>
      <Outcome request={request} />
    </header>
  );
}

/** The outcome of the request, at the top of the page. */
function Outcome({ request }: Pick<Shown, "request">) {
  const { status, decision } = request;
  if (status === "pending" || decision === undefined) return null;
  return (
    <p class="outcome" id="outcome">
      <StatusBadge status={status} />
      <span>
        <Text>{outcomeOf(request, session.value?.project?.reviewer.name)}</Text>{" "}
        <When at={decision.decided_at} />
      </span>
    </p>
  );
}

/**
 * Where the focus was lost with the request before, it moves to the new heading. A page that was
 * just loaded leaves the focus to the browser.
 */
function useFocusOnOpened(): void {
  useLayoutEffect(() => {
    if (!hasInteracted() || document.activeElement !== document.body) return;
    document.getElementById("tool")?.focus({ preventScroll: true });
  }, []);
}

const WAIT_MS = 400;

/**
 * The facts of earlier calls are above the arguments, and would move them when they arrive. So the
 * arguments wait for them, but not for long.
 */
function useIsWaiting(isLoading: boolean): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), WAIT_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLoading && !isOver;
}

function useFlowKeys({ move, back }: Flow): void {
  useKeys([
    { key: "]", does: t`Next request`, press: () => move(1) },
    { key: "[", does: t`Previous request`, press: () => move(-1) },
    { key: "Escape", does: t`Back to the list`, press: back },
  ]);
}

function useTitle(tool: string): void {
  const count = mine.value.length;
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${visibleText(tool)} · Countersign`;
  }, [tool, count]);
}

/** When a held verdict is due, what came of it is asked for. */
function useReloadWhenCommitted(commitsAt: string | undefined, ask: () => Promise<void>): void {
  const isDue = useComputed(
    // Reads the clock first: without a signal it would never be computed again.
    () => now.value >= Date.parse(commitsAt ?? ""),
  ).value;
  useEffect(() => {
    if (isDue) void ask();
  }, [isDue, ask]);
}
