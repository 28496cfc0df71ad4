/** The notification channels of the project, with the outcome of their last message. */

import type { Channel, LastSending } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { rich, t } from "../../language/t.ts";
import { Button } from "../../parts/button.tsx";
import { ConfirmButton } from "../../parts/confirm-button.tsx";
import { Choice, Field, Form } from "../../parts/form.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";
import { ChangeChannel } from "./change-channel.tsx";
import { MessageFields, messagesOf, TargetFields, targetOf } from "./channel-fields.tsx";

type Kind = Channel["kind"];

const KIND_LABELS: Readonly<Record<Kind, string>> = {
  slack: t`Slack or compatible: incoming webhook`,
  slack_app: t`Slack app: messages with buttons and the decision`,
  telegram: t`Telegram bot: messages with buttons and the decision`,
  discord: t`Discord bot: messages with buttons and the decision`,
  mattermost: t`Mattermost bot: messages with buttons and the decision`,
  teams: t`Microsoft Teams: webhook of a workflow, with a link`,
  email: t`Email`,
  ntfy: t`ntfy: topic`,
  webhook: t`Webhook, signed`,
};

export function ChannelSettings() {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /channels", { signal }),
    "channels",
  );
  const isMine = may("people");
  // The list above would move the form.
  const isLoaded = value !== undefined || error !== undefined;
  return (
    <>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <section class="panel" aria-labelledby="channels-title">
        <h2 id="channels-title">{t`Channels`}</h2>
        {value?.channels.length === 0 && (
          <Empty title={t`No channels yet`}>
            {t`A channel notifies reviewers of pending calls, with the tool, the time left and a \
link. Create one below.`}
          </Empty>
        )}
        <ul class="rows">
          {value?.channels.map((channel) => (
            <Row key={channel.id} channel={channel} isMine={isMine} onChange={reload} />
          ))}
        </ul>
      </section>
      {isMine && isLoaded && <NewChannel onMade={reload} />}
    </>
  );
}

interface RowProps {
  readonly channel: Channel;
  readonly isMine: boolean;
  onChange(): void;
}

function Row({ channel, isMine, onChange }: RowProps) {
  const { id, name, kind, target, groups, state, failures, last } = channel;
  const [testResult, setTestResult] = useState("");
  const [isChanging, setChanging] = useState(false);
  const [secret, setSecret] = useState<string>();
  const isOn = state === "enabled";
  return (
    <li>
      <div>
        <strong>
          <Text>{name}</Text>
        </strong>{" "}
        <span class={isOn ? "badge approved" : "badge"}>
          {isOn ? (KIND_NAMES[kind] ?? kind) : t`off`}
        </span>
        {failures > 0 && <span class="badge denied">{t`${failures} failed`}</span>}
        <p class="hint">
          {groups.length === 0
            ? rich`To ${<Text>{target}</Text>}, for all requests`
            : rich`To ${<Text>{target}</Text>}, for ${<Text>{groups.join(", ")}</Text>}`}
          {last !== undefined && rich`; last ${wordsFor(last)} ${<When at={last.at} />}`}
        </p>
        {channel.decide && <Decisions channel={channel} />}
        <p class="hint" role="status">
          {testResult}
        </p>
      </div>
      {isMine && (
        <div class="actions">
          <Button
            kind="quiet"
            onPress={async () => {
              const sent = await api.call("POST /channels/{id}/test", { path: { id } });
              setTestResult(`${t`Test ${wordsFor(sent)}.`} ${sent.message}`);
              onChange();
            }}
          >
            {t`Send test`}
          </Button>
          <Button
            kind="quiet"
            onPress={async () => {
              const body = { disabled: isOn };
              await api.call("PATCH /channels/{id}", { path: { id }, body });
              onChange();
            }}
          >
            {isOn ? t`Turn off` : t`Turn on`}
          </Button>
          <Button kind="quiet" onPress={() => setChanging(true)}>
            {t`Change`} <span class="spoken">{name}</span>
          </Button>
          <ConfirmButton
            title={t`Delete the channel ${name}?`}
            consequence={t`It sends no more messages. Its settings and secrets are lost.`}
            action={t`Delete channel`}
            done={t`Deleted the channel ${name}.`}
            onConfirm={async () => {
              await api.call("DELETE /channels/{id}", { path: { id } });
              onChange();
            }}
          >
            {t`Delete`} <span class="spoken">{name}</span>
          </ConfirmButton>
        </div>
      )}
      {secret !== undefined && (
        <SigningSecret secret={secret} onClose={() => setSecret(undefined)} />
      )}
      {isChanging && (
        <ChangeChannel
          channel={channel}
          onClose={() => setChanging(false)}
          onDone={({ signing_secret }) => {
            setSecret(signing_secret);
            onChange();
          }}
        />
      )}
    </li>
  );
}

interface SigningSecretProps {
  readonly secret: string;
  onClose(): void;
}

/** Of a new webhook, or of one with a new address. */
function SigningSecret({ secret, onClose }: SigningSecretProps) {
  return (
    <SecretOnce
      title={t`The signing secret`}
      what={t`signing secret`}
      secret={secret}
      hint={t`Displayed once. The receiver verifies messages with it.`}
      onClose={onClose}
    />
  );
}

/** Other kinds have the names of products. */
const KIND_NAMES: Readonly<Partial<Record<Kind, string>>> = {
  email: t`email`,
  webhook: t`webhook`,
};

const EVENTS_LABELS: Readonly<Partial<Record<Kind, string>>> = {
  slack_app: t`Request URL for the Slack app`,
  discord: t`Interactions Endpoint URL for the Discord application`,
};

/** Where the events of the buttons arrive. */
function Decisions({ channel }: { readonly channel: Channel }) {
  const { connection, events_url } = channel;
  if (connection !== undefined) {
    const state = CONNECTION_LABELS[connection.state] ?? connection.state;
    return (
      <p class="hint">
        {t`Linked reviewers decide here.`} {t`Connection: ${state}.`}
      </p>
    );
  }
  const events = EVENTS_LABELS[channel.kind];
  return (
    <p class="hint">
      {t`Linked reviewers decide here.`}
      {events !== undefined && (
        <>
          {" "}
          {events}: <code>{events_url}</code>
        </>
      )}
    </p>
  );
}

/** Other states are errors, as the chat reported them. */
const CONNECTION_LABELS: Readonly<Record<string, string>> = {
  connected: t`connected`,
  connecting: t`connecting`,
  not_connected: t`not_connected`,
};

/** Other outcomes name their cause for the operator. */
const OUTCOME_LABELS: Readonly<Record<string, string>> = {
  sent: t`sent`,
  rejected: t`rejected`,
};

function wordsFor({ outcome, status }: Omit<LastSending, "at">): string {
  const words = OUTCOME_LABELS[outcome] ?? outcome;
  return status === undefined ? words : `${words} (${status})`;
}

function NewChannel({ onMade }: { onMade(): void }) {
  const [kind, setKind] = useState<Kind>("slack");
  const [secret, setSecret] = useState<string>();
  return (
    <section class="panel" aria-labelledby="new-channel-title">
      <h2 id="new-channel-title">{t`New channel`}</h2>
      <Form
        submit={t`Add channel`}
        onSubmit={async (values) => {
          const body = {
            name: values("name"),
            kind,
            ...targetOf(kind, values),
            ...messagesOf(values),
          };
          const made = await api.call("POST /channels", { body });
          setSecret(made.signing_secret);
          onMade();
        }}
      >
        <Choice
          name="kind"
          label={t`Kind`}
          value={kind}
          options={Object.entries(KIND_LABELS)}
          onChange={(chosen) => setKind(chosen as Kind)}
        />
        <Field name="name" label={t`Name`} maxLength={64} />
        <TargetFields kind={kind} />
        <MessageFields />
      </Form>
      {secret !== undefined && (
        <SigningSecret secret={secret} onClose={() => setSecret(undefined)} />
      )}
    </section>
  );
}
