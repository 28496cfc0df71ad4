/** The notification channels of the project, with the outcome of their last message. */

import type { Channel, LastSending } from "@countersign/review-api";
import { useState } from "preact/hooks";
import { api } from "../../api.ts";
import { Text } from "../../exact/text.tsx";
import { Button } from "../../parts/button.tsx";
import { Choice, Field, Form, wordsOf } from "../../parts/form.tsx";
import { Empty, Fault } from "../../parts/notice.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { When } from "../../parts/when.tsx";
import { may } from "../../powers.ts";

type Kind = Channel["kind"];

const KIND_LABELS: Readonly<Record<Kind, string>> = {
  slack: "Slack or compatible: incoming webhook",
  slack_app: "Slack app: messages with buttons and the decision",
  telegram: "Telegram bot: messages with buttons and the decision",
  discord: "Discord bot: messages with buttons and the decision",
  mattermost: "Mattermost bot: messages with buttons and the decision",
  teams: "Microsoft Teams: webhook of a workflow, with a link",
  email: "Email",
  ntfy: "ntfy: topic",
  webhook: "Webhook, signed",
};

export function ChannelSettings() {
  const { value, error, reload } = useLoaded(
    (signal) => api.call("GET /channels", { signal }),
    "channels",
  );
  const isMine = may("people");
  return (
    <>
      {error !== undefined && <Fault error={error} onRetry={reload} />}
      <section class="panel" aria-labelledby="channels-title">
        <h2 id="channels-title">Channels</h2>
        {value?.channels.length === 0 && (
          <Empty title="No channels yet">
            A channel notifies reviewers of pending calls, with the tool, the time left and a link.
            Create one below.
          </Empty>
        )}
        <ul class="rows">
          {value?.channels.map((channel) => (
            <Row key={channel.id} channel={channel} isMine={isMine} onChange={reload} />
          ))}
        </ul>
      </section>
      {isMine && <NewChannel onMade={reload} />}
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
  const isOn = state === "enabled";
  return (
    <li>
      <div>
        <strong>
          <Text>{name}</Text>
        </strong>{" "}
        <span class={isOn ? "badge approved" : "badge"}>{isOn ? kind : "off"}</span>
        {failures > 0 && <span class="badge denied">{failures} failed</span>}
        <p class="hint">
          To <Text>{target}</Text>, for{" "}
          {groups.length === 0 ? "all requests" : <Text>{groups.join(", ")}</Text>}
          {last !== undefined && (
            <>
              ; last {wordsFor(last)} <When at={last.at} />
            </>
          )}
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
              setTestResult(`Test ${wordsFor(sent)}. ${sent.message}`);
              onChange();
            }}
          >
            Send test
          </Button>
          <Button
            kind="quiet"
            onPress={async () => {
              const body = { disabled: isOn };
              await api.call("PATCH /channels/{id}", { path: { id }, body });
              onChange();
            }}
          >
            {isOn ? "Turn off" : "Turn on"}
          </Button>
          <Button
            kind="quiet"
            onPress={async () => {
              await api.call("DELETE /channels/{id}", { path: { id } });
              onChange();
            }}
          >
            Delete
          </Button>
        </div>
      )}
    </li>
  );
}

const EVENTS_LABELS: Readonly<Partial<Record<Kind, string>>> = {
  slack_app: "Request URL for the Slack app",
  discord: "Interactions Endpoint URL for the Discord application",
};

/** Where the events of the buttons arrive. */
function Decisions({ channel }: { readonly channel: Channel }) {
  const { connection, events_url } = channel;
  if (connection !== undefined) {
    return <p class="hint">Linked reviewers decide here. Connection: {connection.state}.</p>;
  }
  if (channel.kind === "mattermost") return <p class="hint">Linked reviewers decide here.</p>;
  return (
    <p class="hint">
      Linked reviewers decide here. {EVENTS_LABELS[channel.kind]}: <code>{events_url}</code>
    </p>
  );
}

function wordsFor({ outcome, status }: Omit<LastSending, "at">): string {
  return status === undefined ? outcome : `${outcome} (${status})`;
}

function NewChannel({ onMade }: { onMade(): void }) {
  const [kind, setKind] = useState<Kind>("slack");
  const [secret, setSecret] = useState<string>();
  return (
    <section class="panel" aria-labelledby="new-channel-title">
      <h2 id="new-channel-title">New channel</h2>
      <Form
        submit="Add channel"
        onSubmit={async (values) => {
          const token = values("token");
          const digest = values("digest").trim();
          const reminder = values("remind_before").trim();
          const body = {
            name: values("name"),
            kind,
            groups: wordsOf(values("groups")),
            ...targetOf(kind, values),
            ...(token !== "" && { token }),
            ...(reminder !== "" && { remind_before: reminder }),
            ...(digest !== "" && { digest }),
            ...(values("on_decision") !== "" && { on_decision: true }),
          };
          const made = await api.call("POST /channels", { body });
          setSecret(made.signing_secret);
          onMade();
        }}
      >
        <Choice
          name="kind"
          label="Kind"
          value={kind}
          options={Object.entries(KIND_LABELS)}
          onChange={(chosen) => setKind(chosen as Kind)}
        />
        <Field name="name" label="Name" maxLength={64} />
        <TargetFields kind={kind} />
        <Field
          name="groups"
          label="Groups (optional)"
          hint="Only requests to these groups, separated by commas. Empty: all requests."
        />
        <Field
          name="digest"
          label="One summary every (optional)"
          hint="For example 1h, instead of single messages."
        />
        <Choice
          name="on_decision"
          label="Messages about decisions"
          options={[
            ["", "None"],
            ["yes", "One for each decision, with the note"],
          ]}
        />
        <Field
          name="remind_before"
          label="Reminder before the deadline (optional)"
          hint="For example 5m."
        />
      </Form>
      {secret !== undefined && (
        <SecretOnce
          title="The signing secret"
          what="signing secret"
          secret={secret}
          hint="Displayed once. The receiver verifies messages with it."
          onClose={() => setSecret(undefined)}
        />
      )}
    </section>
  );
}

function TargetFields({ kind }: { readonly kind: Kind }) {
  switch (kind) {
    case "email":
      return <Field name="to" label="Addresses" hint="Up to 20, separated by commas." />;
    case "slack_app":
      return (
        <>
          <Field name="token" label="Bot token" type="password" hint="It starts with xoxb-." />
          <Field
            name="slack_channel"
            label="Slack channel ID"
            hint="For example C0123456789. Invite the app to this channel."
          />
          <Decide hint="Buttons need an app-level token or a signing secret of the app." />
          <Field
            name="app_token"
            label="App-level token for Socket Mode (optional)"
            type="password"
            hint="It starts with xapp-."
          />
          <Field name="signing_secret" label="Signing secret for HTTP (optional)" type="password" />
        </>
      );
    case "telegram":
      return (
        <>
          <Field name="token" label="Bot token" type="password" hint="From @BotFather." />
          <Field
            name="conversation"
            label="Chat ID"
            hint="For example -1001234567890. Add the bot to this chat."
          />
          <Decide hint="The server polls the bot. Use a bot of its own for each project." />
        </>
      );
    case "discord":
      return (
        <>
          <Field name="token" label="Bot token" type="password" />
          <Field name="conversation" label="Channel ID" hint="For example 1234567890123456789." />
          <Decide hint="Buttons need the public key of the application." />
          <Field name="public_key" label="Public key (optional)" />
        </>
      );
    case "mattermost":
      return (
        <>
          <Field name="url" label="Mattermost URL" type="url" placeholder="https://" />
          <Field name="token" label="Bot access token" type="password" />
          <Field name="conversation" label="Channel ID" hint="26 letters and digits." />
          <Decide hint="Mattermost must be able to reach this server." />
        </>
      );
    case "ntfy":
      return (
        <>
          <Field name="url" label="URL" type="url" placeholder="https://" />
          <Field name="token" label="Access token (optional)" type="password" />
        </>
      );
    default:
      return <Field name="url" label="URL" type="url" placeholder="https://" />;
  }
}

function Decide({ hint }: { readonly hint: string }) {
  return (
    <Choice
      name="decide"
      label="Decisions"
      hint={hint}
      options={[
        ["", "A link to the console"],
        ["yes", "Buttons for linked reviewers; messages include the arguments"],
      ]}
    />
  );
}

function targetOf(kind: Kind, values: (name: string) => string): object {
  switch (kind) {
    case "email":
      return { to: wordsOf(values("to")) };
    case "slack_app":
      return slackTarget(values);
    case "telegram":
      return conversationTarget(values);
    case "discord": {
      const publicKey = values("public_key").trim();
      return { ...conversationTarget(values), ...(publicKey !== "" && { public_key: publicKey }) };
    }
    case "mattermost":
      return { url: values("url").trim(), ...conversationTarget(values) };
    default:
      return { url: values("url").trim() };
  }
}

function slackTarget(values: (name: string) => string): object {
  const appToken = values("app_token").trim();
  const signingSecret = values("signing_secret").trim();
  return {
    slack_channel: values("slack_channel").trim(),
    ...(appToken !== "" && { app_token: appToken }),
    ...(signingSecret !== "" && { signing_secret: signingSecret }),
    ...decisionsOf(values),
  };
}

function conversationTarget(values: (name: string) => string): object {
  return { conversation: values("conversation").trim(), ...decisionsOf(values) };
}

function decisionsOf(values: (name: string) => string): object {
  return values("decide") === "" ? {} : { decide: true, include_arguments: true };
}
