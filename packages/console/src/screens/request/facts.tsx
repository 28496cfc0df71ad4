/** Facts about a call: its rule, the requester, votes, context and the agent's explanation. */

import type { PolicyVersion, ReviewedRequest } from "@countersign/review-api";
import { TOOL_CHANGE } from "@countersign/review-api/tool-change";
import type { ComponentChildren } from "preact";
import { api } from "../../api.ts";
import { LongText } from "../../exact/long-text.tsx";
import { Text } from "../../exact/text.tsx";
import { Scroller } from "../../parts/scroller.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import * as words from "../../requests/words.ts";
import { now } from "../../time.ts";

const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function Fact({ name, children }: { name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A time in the zone of the reader. */
export function Time({ at }: { readonly at: string }) {
  return <time dateTime={at}>{DATE_TIME.format(new Date(at))}</time>;
}

const CAUSES: Readonly<Record<string, string>> = {
  "no-match": "no matching rule",
  "no-policy": "no policy: every call needs a person",
  error: "a rule error",
  inexact: "a number too precise to evaluate",
  [TOOL_CHANGE]: "a changed definition of the tool",
};

export interface RuleFactsProps {
  readonly request: ReviewedRequest;
  /** Below the facts. */
  readonly children?: ComponentChildren;
}

export function RuleFacts({ request, children }: RuleFactsProps) {
  const { policy, requirement, votes } = request;
  const needed = words.describeConfirmation(requirement);
  const count = words.countVotes(request);
  return (
    <section class="panel" aria-labelledby="rule-title">
      <h2 id="rule-title">Why approval is required</h2>
      {policy.note !== undefined && (
        <blockquote id="why">
          <Text>{policy.note}</Text>
        </blockquote>
      )}
      <dl class="facts">
        <Fact name="Rule">
          <Text>{CAUSES[policy.because] ?? `the rule ${policy.because}`}</Text>
        </Fact>
        <Fact name="Who decides">
          <Text>{words.describeApprovers(requirement)}</Text>
        </Fact>
        <Escalation steps={requirement.escalate ?? []} />
        {needed !== "" && <Fact name="Required to approve">{needed}</Fact>}
        {requirement.valid_for_max !== undefined && (
          <Fact name="Valid for at most">{requirement.valid_for_max}</Fact>
        )}
        <Versions {...policy.versions} />
        <Fact name="Decide until">
          <Time at={request.deadline_at} />
        </Fact>
      </dl>
      {policy.errors.length > 0 && (
        <p class="warning">
          <Text>{`Failed: ${policy.errors.map(({ rule }) => rule).join(", ")}`}</Text>
        </p>
      )}
      {count !== "" && (
        <div class="quorum">
          <p id="count">
            <strong>{count}</strong>
          </p>
          <Progress count={votes.length} quorum={requirement.quorum} />
          {request.status === "pending" && (
            <p class="hint">
              <Text>{words.stillMissing(request)}</Text>
            </p>
          )}
        </div>
      )}
      <Votes votes={votes} />
      {children}
    </section>
  );
}

function Escalation({ steps }: { readonly steps: readonly words.EscalationStep[] }) {
  if (steps.length === 0) return null;
  return (
    <Fact name="Escalation">
      <ul class="escalation" id="escalation">
        {steps.map((step) => (
          <li key={step.to + step.at} class={step.done_at === undefined ? "due" : "done"}>
            <Text>{words.describeEscalation(step, now.value)}</Text>
          </li>
        ))}
      </ul>
    </Fact>
  );
}

function Progress({ count, quorum }: { readonly count: number; readonly quorum: number }) {
  if (quorum < 2) return null;
  return (
    <div class="progress" aria-hidden="true">
      {Array.from({ length: Math.min(quorum, 20) }, (_, index) => (
        <span key={index} class={index < count ? "done" : ""} />
      ))}
    </div>
  );
}

function Versions(versions: ReviewedRequest["policy"]["versions"]) {
  const named = (version: PolicyVersion | null | undefined) =>
    version === null || version === undefined ? undefined : version;
  const project = named(versions.project);
  const floor = named(versions.floor);
  if (project === undefined && floor === undefined) return null;
  return (
    <Fact name="Policy version">
      {[project, floor].map((version, index) =>
        version === undefined ? null : (
          <span key={index} title={`SHA-256 ${version.sha256}`}>
            {index === 1 && project !== undefined && ", "}
            {index === 1 ? "floor " : ""}
            {version.number} <code class="faint">{version.sha256.slice(0, 8)}</code>
          </span>
        ),
      )}
    </Fact>
  );
}

function Votes({ votes }: Pick<ReviewedRequest, "votes">) {
  if (votes.length === 0) return null;
  return (
    <ul class="votes" id="votes">
      {votes.map(({ reviewer, at, note }) => (
        <li key={reviewer}>
          <span>
            <strong>
              <Text>{reviewer}</Text>
            </strong>{" "}
            approved at <Time at={at} />
          </span>
          {note !== undefined && (
            <blockquote>
              <Text>{note}</Text>
            </blockquote>
          )}
        </li>
      ))}
    </ul>
  );
}

export function AskerFacts({ request }: { readonly request: ReviewedRequest }) {
  const { instance, server, created_at: createdAt } = request;
  const path = { id: instance.id };
  const { value } = useLoaded(
    (signal) => api.call("GET /instances/{id}", { path, signal }),
    instance.id,
  );
  return (
    <section class="panel" aria-labelledby="asker-title">
      <h2 id="asker-title">Requested by</h2>
      <dl class="facts">
        <Fact name="Instance">
          <span id="instance">
            <Text>{instance.name || instance.id}</Text>
          </span>
        </Fact>
        {server !== undefined && (
          <Fact name="Server">
            <span id="server">
              <Text>{server}</Text>
            </span>
            <span class="faint"> (name given by the agent)</span>
          </Fact>
        )}
        {value !== undefined && (
          <Fact name="Owner">
            <Text>{value.owner ?? "none"}</Text>
          </Fact>
        )}
        {value?.groups !== undefined && value.groups.length > 0 && (
          <Fact name="Groups">
            <Text>{value.groups.join(", ")}</Text>
          </Fact>
        )}
        <Fact name="When">
          <time dateTime={createdAt} title={DATE_TIME.format(new Date(createdAt))}>
            {words.timeAgo(now.value - Date.parse(createdAt))}
          </time>
        </Fact>
        {/* A reviewer who must type a part of it copies it from the agent's session. */}
        {request.requirement.confirm.kind !== "match" && (
          <Fact name="Request">
            <code class="faint">{request.id}</code>
          </Fact>
        )}
      </dl>
    </section>
  );
}

export function ContextFacts({ text }: { readonly text: string }) {
  return (
    <section class="panel" id="around" aria-labelledby="context-title">
      <header class="panel-head">
        <h2 id="context-title">Context</h2>
        <span class="hint">Reported by the agent's adapter</span>
      </header>
      <Scroller class="source" labelledBy="context-title">
        <pre id="context">
          <LongText text={text} />
        </pre>
      </Scroller>
    </section>
  );
}

export function Claim({ text }: { readonly text: string }) {
  return (
    <section class="panel" id="claim" aria-labelledby="claim-title">
      <header class="panel-head">
        <h2 id="claim-title">The agent's explanation</h2>
        <span class="badge warn-badge">Not verified</span>
      </header>
      <Scroller class="claim-text" labelledBy="claim-title">
        <blockquote id="reasoning">
          <LongText text={text} />
        </blockquote>
      </Scroller>
    </section>
  );
}
