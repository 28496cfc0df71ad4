/** All calls of the agent session of a request, in order, with the times between them. */

import type { AgentSession, SessionCall } from "@countersign/review-api";
import { plural, rich, t } from "../../language/t.ts";
import "./session.css";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { addressOfId, idOfAddress } from "../../live/request-address.ts";
import { Button } from "../../parts/button.tsx";
import { Decider } from "../../parts/decider.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { durationWords } from "../../parts/time-words.ts";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { href } from "../../route.ts";
import type { ScreenProps } from "../../screen-props.ts";

export function Screen({ rest }: ScreenProps) {
  const id = idOfAddress(rest) ?? rest;
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /requests/{id}/session", { path: { id }, signal }),
    id,
  );
  return (
    <Page
      title={t`Session`}
      lead={t`Calls of one agent session, in order. The agent reports the session: \
it proves nothing.`}
      actions={
        <Button kind="quiet" onPress={reload}>
          <Icon name="refresh" /> {t`Refresh`}
        </Button>
      }
    >
      <nav class="back" aria-label={t`Back`}>
        <a href={href(`/inbox/${addressOfId(id)}`)}>
          <Icon name="back" /> {t`Request`}
        </a>
      </nav>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <div aria-busy={value === undefined && error === undefined}>
        {value !== undefined && <Shown id={id} listing={value} />}
      </div>
    </Page>
  );
}

interface ShownProps {
  /** The request that the page was opened from. */
  readonly id: string;
  readonly listing: AgentSession;
}

function Shown({ id, listing }: ShownProps) {
  const { instance, session, calls, complete_before, complete_after } = listing;
  return (
    <section class="panel" aria-labelledby="calls-title">
      <h2 id="calls-title">{plural(calls.length, { one: "1 call", other: "# calls" })}</h2>
      <dl class="facts">
        <div>
          <dt>{t`Instance`}</dt>
          <dd>
            <bdi>
              <Text>{instance.name || instance.id}</Text>
            </bdi>
          </dd>
        </div>
        {session !== undefined && (
          <div>
            <dt>{t`Session`}</dt>
            <dd>
              <code>
                <Text>{session}</Text>
              </code>
            </dd>
          </div>
        )}
      </dl>
      {session === undefined && (
        <Empty title={t`This request has no session`}>
          <p>{t`The adapter of the agent reports no session_id in the context.`}</p>
        </Empty>
      )}
      {!complete_before && <p class="note">{t`Earlier calls may be missing.`}</p>}
      <ol class="calls">
        {calls.map((call, index) => (
          <Call key={call.id} call={call} before={calls[index - 1]} isCurrent={call.id === id} />
        ))}
      </ol>
      {!complete_after && <p class="note">{t`Later calls may be missing.`}</p>}
    </section>
  );
}

interface CallProps {
  readonly call: SessionCall;
  readonly before: SessionCall | undefined;
  readonly isCurrent: boolean;
}

function Call({ call, before, isCurrent }: CallProps) {
  const { id, tool, server, status, created_at: createdAt, decided_at: decidedAt } = call;
  return (
    <li>
      {before !== undefined && (
        <p class="gap hint">{t`${between(before.created_at, createdAt)} later`}</p>
      )}
      <a
        class="call"
        href={href(`/inbox/${addressOfId(id)}`)}
        aria-current={isCurrent ? "true" : undefined}
      >
        <span class="call-name">
          <bdi>
            <Text>{tool}</Text>
          </bdi>{" "}
          {server !== undefined && <bdi class="hint">{rich`on ${<Text>{server}</Text>}`}</bdi>}
        </span>
        <span class="call-at">
          <When at={createdAt} exact />
        </span>
        <span class="call-outcome">
          <StatusBadge status={status} />
          {decidedAt !== undefined && call.decided_by !== undefined && (
            <span class="hint">
              {rich`after ${between(createdAt, decidedAt)} by ${(
                <bdi>
                  <Decider decided_by={call.decided_by} decider={call.decider} />
                </bdi>
              )}`}
            </span>
          )}
          <span class="hint">{describeUse(call)}</span>
        </span>
      </a>
    </li>
  );
}

function between(from: string, to: string): string {
  return durationWords(Math.max(0, Date.parse(to) - Date.parse(from)));
}

const OUTCOMES: Readonly<Record<NonNullable<SessionCall["outcome"]>["status"], string>> = {
  succeeded: t`succeeded`,
  failed: t`failed`,
};

function describeUse({ status, decided_at, consumed_at, outcome }: SessionCall): string {
  if (outcome !== undefined) return t`The agent reports: ${OUTCOMES[outcome.status]}`;
  if (consumed_at === undefined || decided_at === undefined || status !== "approved") return "";
  return t`used after ${between(decided_at, consumed_at)}`;
}
