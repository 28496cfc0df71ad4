/** Facts about a call: its rule, the requester, votes, context and the agent's explanation. */

import type { PolicyVersion, ReviewedRequest } from "@countersign/review-api";
import { sessionIn } from "@countersign/review-api/calls";
import { TOOL_CHANGE } from "@countersign/review-api/tool-change";
import type { ComponentChildren } from "preact";
import { api } from "../../api.ts";
import { LongText } from "../../exact/long-text.tsx";
import { Text } from "../../exact/text.tsx";
import { plural, rich, t } from "../../language/t.ts";
import { addressOfId } from "../../live/request-address.ts";
import { Scroller } from "../../parts/scroller.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import * as words from "../../requests/words.ts";
import { href } from "../../route.ts";
import { now } from "../../time.ts";

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
  return <When at={at} exact />;
}

const CAUSES: Readonly<Record<string, string>> = {
  "no-match": t`no matching rule`,
  "no-policy": t`no policy: every call needs a person`,
  error: t`a rule error`,
  inexact: t`a number too precise to evaluate`,
  [TOOL_CHANGE]: t`a changed definition of the tool`,
};

export interface RuleFactsProps {
  readonly request: ReviewedRequest;
  /** Below the facts. */
  readonly children?: ComponentChildren;
}

export function RuleFacts({ request, children }: RuleFactsProps) {
  const { policy, requirement, votes } = request;
  const needed = words.describeConfirmation(requirement);
  return (
    <section class="panel" aria-labelledby="rule-title">
      <h2 id="rule-title">{t`Why approval is required`}</h2>
      {policy.note !== undefined && (
        <blockquote id="why">
          <Text>{policy.note}</Text>
        </blockquote>
      )}
      <dl class="facts">
        <Fact name={t`Rule`}>
          <Text>{CAUSES[policy.because] ?? t`the rule ${policy.because}`}</Text>
        </Fact>
        <Fact name={t`Who decides`}>
          <Text>{words.describeApprovers(requirement)}</Text>
        </Fact>
        <Escalation steps={requirement.escalate ?? []} />
        {needed !== "" && <Fact name={t`Required to approve`}>{needed}</Fact>}
        {requirement.valid_for_max !== undefined && (
          <Fact name={t`Valid for at most`}>{requirement.valid_for_max}</Fact>
        )}
        <Versions {...policy.versions} />
        <Fact name={t`Decide until`}>
          <Time at={request.deadline_at} />
        </Fact>
      </dl>
      {policy.errors.length > 0 && <RuleErrors errors={policy.errors} />}
      <Votes votes={votes} />
      {children}
    </section>
  );
}

/** Without the reason, a reviewer cannot know what the rule would have required. */
function RuleErrors({ errors }: Pick<ReviewedRequest["policy"], "errors">) {
  return (
    <div class="warning" id="rule-errors">
      <p>{plural(errors.length, { one: "A rule failed:", other: "# rules failed:" })}</p>
      <ul>
        {errors.map(({ rule, message }) => (
          <li key={rule}>
            <Text>{`${rule}: ${message}`}</Text>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Escalation({ steps }: { readonly steps: readonly words.EscalationStep[] }) {
  if (steps.length === 0) return null;
  return (
    <Fact name={t`Escalation`}>
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

function Versions(versions: ReviewedRequest["policy"]["versions"]) {
  const named = (version: PolicyVersion | null | undefined) =>
    version === null || version === undefined ? undefined : version;
  const project = named(versions.project);
  const floor = named(versions.floor);
  if (project === undefined && floor === undefined) return null;
  return (
    <Fact name={t`Policy version`}>
      {[project, floor].map((version, index) =>
        version === undefined ? null : (
          <span key={index} title={`SHA-256 ${version.sha256}`}>
            {index === 1 && project !== undefined && ", "}
            {index === 1 ? t`floor ${String(version.number)}` : version.number}{" "}
            <code class="faint">{version.sha256.slice(0, 8)}</code>
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
            {rich`${(
              <strong>
                <Text>{reviewer}</Text>
              </strong>
            )} approved at ${<Time at={at} />}`}
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
      <h2 id="asker-title">{t`Requested by`}</h2>
      <dl class="facts">
        <Fact name={t`Instance`}>
          <span id="instance">
            <Text>{instance.name || instance.id}</Text>
          </span>
        </Fact>
        {server !== undefined && (
          <Fact name={t`Server`}>
            <span id="server">
              <Text>{server}</Text>
            </span>
            <span class="faint">{t` (name given by the agent)`}</span>
          </Fact>
        )}
        {value !== undefined && (
          <Fact name={t`Owner`}>
            <Text>{value.owner ?? t`none`}</Text>
          </Fact>
        )}
        {value?.groups !== undefined && value.groups.length > 0 && (
          <Fact name={t`Groups`}>
            <Text>{value.groups.join(", ")}</Text>
          </Fact>
        )}
        <Fact name={t`When`}>
          <When at={createdAt} />
        </Fact>
        {/* A reviewer who must type a part of it copies it from the agent's session. */}
        {request.requirement.confirm.kind !== "match" && (
          <Fact name={t`Request`}>
            <code class="faint">{request.id}</code>
          </Fact>
        )}
      </dl>
    </section>
  );
}

export interface ContextFactsProps {
  /** Of the request. */
  readonly id: string;
  readonly text: string;
}

export function ContextFacts({ id, text }: ContextFactsProps) {
  return (
    <section class="panel" id="around" aria-labelledby="context-title">
      <header class="panel-head">
        <h2 id="context-title">{t`Context`}</h2>
        <span class="hint">{t`Reported by the agent's adapter`}</span>
      </header>
      <Scroller class="source" labelledBy="context-title">
        <pre id="context">
          <LongText text={text} />
        </pre>
      </Scroller>
      {sessionIn(text) !== undefined && (
        <a href={href(`/sessions/${addressOfId(id)}`)}>{t`All calls of this session`}</a>
      )}
    </section>
  );
}

export function Claim({ text }: { readonly text: string }) {
  return (
    <section class="panel" id="claim" aria-labelledby="claim-title">
      <header class="panel-head">
        <h2 id="claim-title">{t`The agent's explanation`}</h2>
        <span class="badge warn-badge">{t`Not verified`}</span>
      </header>
      <Scroller class="claim-text" labelledBy="claim-title">
        <blockquote id="reasoning">
          <LongText text={text} />
        </blockquote>
      </Scroller>
    </section>
  );
}
