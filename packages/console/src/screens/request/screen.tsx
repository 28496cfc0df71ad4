/**
 * The screen of one request, on which reviewers decide: its exact arguments and its live status.
 * The verdict carries the digest of the displayed text, which this page computes.
 */

import { visibleText } from "@countersign/protocol";
import "./request.css";
import { useComputed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { connection } from "../../live/live.ts";
import { Button } from "../../parts/button.tsx";
import { FaultBoundary } from "../../parts/fault-boundary.tsx";
import { Icon } from "../../parts/icon.tsx";
import { OnServer } from "../../parts/on-server.tsx";
import { href } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";
import { session } from "../../session.ts";
import { now } from "../../time.ts";
import { Absences } from "./absences.tsx";
import { ApprovalFields } from "./approval-fields.tsx";
import { type AvailableActions, availableActions, hasUndo } from "./available-actions.ts";
import { DeniedBefore, Difference, Similar, Timeline } from "./background.tsx";
import { ClaimButton, CurrentClaim } from "./claimed.tsx";
import { type DecidingKey, useDecidingKeys } from "./deciding-keys.ts";
import { DecisionBar } from "./decision-bar.tsx";
import { ExactArguments } from "./exact-arguments.tsx";
import { AskerFacts, Claim, ContextFacts, RuleFacts } from "./facts.tsx";
import { Previews } from "./previews.tsx";
import { ToolChanged } from "./tool-change.tsx";
import { type LoadedBackground, useBackground } from "./use-background.ts";
import { type Decision, useDecision } from "./use-decision.ts";
import { type OpenRequest, type Shown, useRequest } from "./use-request.ts";

export function Screen({ rest: id }: ScreenProps) {
  const open = useRequest(id);
  const loaded = useBackground(id, open.shown?.request);
  return (
    <div class="request">
      <nav class="back" aria-label="Back">
        <a href={href("/inbox")}>
          <Icon name="back" /> Inbox
        </a>
      </nav>
      {open.fault !== "" && (
        <p class="alert" id="fault" role="alert">
          {open.fault}
        </p>
      )}
      {open.isMissing && <OtherProjects />}
      {open.shown !== undefined && (
        <Opened id={id} open={open} shown={open.shown} loaded={loaded} />
      )}
    </div>
  );
}

/** A member of several projects may have another one open than the link is about. */
function OtherProjects() {
  const others = (session.value?.projects ?? []).filter(
    ({ id }) => id !== session.value?.project?.id,
  );
  return (
    <>
      <h1>Request not found</h1>
      <p class="alert" role="alert">
        It belongs to another project, or it was purged.
      </p>
      <div class="actions">
        {others.map(({ id, name }) => (
          <Button
            key={id}
            onPress={async () => {
              await api.call("POST /session/project", { body: { project_id: id } });
              location.reload();
            }}
          >
            Switch to project <Text>{name}</Text>
          </Button>
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
}

function Opened({ id, open, shown, loaded }: OpenedProps) {
  const { request, argumentsText, digest } = shown;
  const { background } = loaded;
  const page = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLElement>(null);
  const [hasSeenEnd, setSeenEnd] = useState(false);
  const wasOffered = useRef(false);
  const isPending = request.status === "pending";
  const wasDeniedBefore = isPending && (background?.denied_before ?? null) !== null;
  const decision = useDecision({ id, open, wasDeniedBefore });
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
  useReloadWhenCommitted(request.held?.commits_at, open.ask);
  const hasKeys = useDecidingKeys({
    boundTo: `${id} ${digest}`,
    box: page,
    keys: keysOf(decision, actions),
  });
  return (
    <>
      <div class="request-body" ref={page}>
        <FaultBoundary name="the call">
          <Call request={request} />
          <CurrentClaim request={request} onChange={open.ask} />
          <Absences request={request} />
          {wasDeniedBefore && <DeniedBefore before={background?.denied_before ?? null} />}
        </FaultBoundary>
        <FaultBoundary name="the change of the tool">
          <ToolChanged request={request} />
        </FaultBoundary>
        <ExactArguments
          text={argumentsText}
          digest={digest}
          bar={bar}
          onEnd={() => setSeenEnd(true)}
        />
        <Previews tool={request.tool} argumentsText={argumentsText} />
        {background !== undefined && (
          <FaultBoundary name="the difference from the last approval">
            <Difference background={background} argumentsText={argumentsText} />
          </FaultBoundary>
        )}
        <FaultBoundary name="the circumstances of the call">
          <Circumstances shown={shown} loaded={loaded} onChange={open.ask} />
        </FaultBoundary>
        {isPending && actions.isOffered && (
          <FaultBoundary name="the fields of an approval">
            <ApprovalFields
              shown={shown}
              decision={decision}
              wasDeniedBefore={wasDeniedBefore}
              canApprove={actions.canApprove}
            />
          </FaultBoundary>
        )}
      </div>
      <DecisionBar
        request={request}
        actions={actions}
        decision={decision}
        hasKeys={hasKeys}
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
          <ClaimButton request={request} onChange={onChange} />
        </RuleFacts>
        <AskerFacts request={request} />
      </div>
      {contextText !== undefined && contextText !== "null" && <ContextFacts text={contextText} />}
      {typeof request.agent_reasoning === "string" && <Claim text={request.agent_reasoning} />}
      {background !== undefined && (
        <>
          <Similar similar={background.similar} />
          <Timeline timeline={background.timeline} />
        </>
      )}
      {hasFailed && <p class="hint">Earlier calls could not be loaded.</p>}
    </>
  );
}

function keysOf(decision: Decision, { canApprove, canDeny }: AvailableActions): DecidingKey[] {
  const isFree = decision.busy === undefined && !decision.isDenying;
  return [
    {
      key: "a",
      does: "Approve this call; it can be undone for 5 s",
      act: isFree && canApprove ? () => void decision.approve() : undefined,
    },
    {
      key: "d",
      does: "Deny this call: asks for the reason",
      act: isFree && canDeny ? decision.openDenial : undefined,
    },
  ];
}

function Call({ request: { tool, server, instance } }: Pick<Shown, "request">) {
  return (
    <header class="call">
      <h1 id="tool" tabIndex={-1}>
        <Text>{tool}</Text>
      </h1>
      <OnServer server={server} />
      <p class="lead">
        <strong>
          <Text>{instance.name || instance.id}</Text>
        </strong>{" "}
        requests this call. If approved, it may run once, exactly as shown below.
      </p>
    </header>
  );
}

function useTitle(tool: string): void {
  useEffect(() => {
    document.title = `${visibleText(tool)} · Countersign`;
  }, [tool]);
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
