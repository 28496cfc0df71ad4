/** Fields of the forms for notification channels, and what they send. */

import type { Channel } from "@countersign/review-api";
import { t } from "../../language/t.ts";
import { Choice, Field, type Values, wordsOf } from "../../parts/form.tsx";

type Kind = Channel["kind"];

/**
 * Which messages a channel sends.
 *
 * @param channel has the values at first; absent for a new channel
 */
export function MessageFields({ channel }: { readonly channel?: Channel }) {
  return (
    <>
      <Field
        name="groups"
        label={t`Groups (optional)`}
        hint={t`Only requests to these groups, separated by commas. Empty: all requests.`}
        value={channel?.groups.join(", ") ?? ""}
      />
      <Field
        name="digest"
        label={t`One summary every (optional)`}
        hint={t`For example 1h, instead of single messages.`}
        value={channel?.digest ?? ""}
      />
      <Choice
        name="on_decision"
        label={t`Messages about decisions`}
        value={channel?.on_decision === true ? "yes" : ""}
        options={[
          ["", t`None`],
          ["yes", t`One for each decision, with the note`],
        ]}
      />
      <Field
        name="remind_before"
        label={t`Reminder before the deadline (optional)`}
        hint={t`For example 5m.`}
        value={channel?.remind_before ?? ""}
      />
    </>
  );
}

/** An empty field turns its messages off. */
export function messagesOf(values: Values) {
  return {
    groups: wordsOf(values("groups")),
    digest: values("digest").trim() || "off",
    remind_before: values("remind_before").trim() || "off",
    on_decision: values("on_decision") !== "",
  };
}

interface TargetFieldsProps {
  readonly kind: Kind;
  /** Whether reviewers decide in the messages, at first. */
  readonly decides?: boolean;
}

/** Where the messages go, and the secrets for it. */
export function TargetFields({ kind, decides = false }: TargetFieldsProps) {
  switch (kind) {
    case "email":
      return <Field name="to" label={t`Addresses`} hint={t`Up to 20, separated by commas.`} />;
    case "slack_app":
      return (
        <>
          <Field
            name="token"
            label={t`Bot token`}
            type="password"
            hint={t`It starts with xoxb-.`}
          />
          <Field
            name="slack_channel"
            label={t`Slack channel ID`}
            hint={t`For example C0123456789. Invite the app to this channel.`}
          />
          <Decide
            decides={decides}
            hint={t`Buttons need an app-level token or a signing secret of the app.`}
          />
          <Field
            name="app_token"
            label={t`App-level token for Socket Mode (optional)`}
            type="password"
            hint={t`It starts with xapp-.`}
          />
          <Field
            name="signing_secret"
            label={t`Signing secret for HTTP (optional)`}
            type="password"
          />
        </>
      );
    case "telegram":
      return (
        <>
          <Field name="token" label={t`Bot token`} type="password" hint={t`From @BotFather.`} />
          <Field
            name="conversation"
            label={t`Chat ID`}
            hint={t`For example -1001234567890. Add the bot to this chat.`}
          />
          <Decide
            decides={decides}
            hint={t`The server polls the bot. Use a bot of its own for each project.`}
          />
        </>
      );
    case "discord":
      return (
        <>
          <Field name="token" label={t`Bot token`} type="password" />
          <Field
            name="conversation"
            label={t`Channel ID`}
            hint={t`For example 1234567890123456789.`}
          />
          <Decide decides={decides} hint={t`Buttons need the public key of the application.`} />
          <Field name="public_key" label={t`Public key (optional)`} />
        </>
      );
    case "mattermost":
      return (
        <>
          <Field name="url" label={t`Mattermost URL`} type="url" placeholder={t`https://`} />
          <Field name="token" label={t`Bot access token`} type="password" />
          <Field name="conversation" label={t`Channel ID`} hint={t`26 letters and digits.`} />
          <Decide decides={decides} hint={t`Mattermost must be able to reach this server.`} />
        </>
      );
    case "ntfy":
      return (
        <>
          <Field name="url" label={t`URL`} type="url" placeholder={t`https://`} />
          <Field name="token" label={t`Access token (optional)`} type="password" />
        </>
      );
    default:
      return <Field name="url" label={t`URL`} type="url" placeholder={t`https://`} />;
  }
}

function Decide({ hint, decides }: { readonly hint: string; readonly decides: boolean }) {
  return (
    <Choice
      name="decide"
      label={t`Decisions`}
      value={decides ? "yes" : ""}
      hint={hint}
      options={[
        ["", t`A link to the console`],
        ["yes", t`Buttons for linked reviewers; messages include the arguments`],
      ]}
    />
  );
}

/** All members of the target: the server keeps none of an earlier one. */
export function targetOf(kind: Kind, values: Values): object {
  const token = values("token").trim();
  return { ...placeOf(kind, values), ...(token !== "" && { token }) };
}

function placeOf(kind: Kind, values: Values): object {
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

function slackTarget(values: Values): object {
  const appToken = values("app_token").trim();
  const signingSecret = values("signing_secret").trim();
  return {
    slack_channel: values("slack_channel").trim(),
    ...(appToken !== "" && { app_token: appToken }),
    ...(signingSecret !== "" && { signing_secret: signingSecret }),
    ...decisionsOf(values),
  };
}

function conversationTarget(values: Values): object {
  return { conversation: values("conversation").trim(), ...decisionsOf(values) };
}

function decisionsOf(values: Values): object {
  return values("decide") === "" ? { decide: false } : { decide: true, include_arguments: true };
}
