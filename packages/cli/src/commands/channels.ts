/** The commands that create, list, test, pause and delete notification channels. */

import { readFileSync } from "node:fs";
import {
  type CommandOptions,
  EXIT,
  type ExitCode,
  renderColumns,
  type Terminal,
  usageError,
} from "@countersign/command-line";
import { parseDuration } from "@countersign/protocol";
import { CHANNEL_KINDS, type Channel, exactText, type LastSending } from "@countersign/review-api";
import type { Command } from "../command.ts";
import { connectApi } from "../connect-api.ts";
import { namesOf } from "../name-list.ts";
import type { ReviewerApi } from "../reviewer-api.ts";
import type { SettingsLine } from "../settings-line.ts";
import { visibleText } from "../visible-text.ts";

const KINDS = CHANNEL_KINDS.join(", ");

const FROM_FILE = "@FILE reads a file, @- reads stdin.";

const OPTIONS: CommandOptions = {
  name: { type: "text", value: "NAME", help: "Name of the channel. Required." },
  target: {
    type: "text",
    value: "URL",
    help: `URL of a webhook, slack, teams, mattermost or ntfy channel. ${FROM_FILE}`,
  },
  to: { type: "text", value: "ADDRESS,ADDRESS", help: "Recipients, for email." },
  "access-token": {
    type: "text",
    value: "TOKEN",
    help: `Access token of ntfy, or token of a bot. ${FROM_FILE}`,
  },
  "slack-channel": { type: "text", value: "ID", help: "Id of the Slack channel, for slack_app." },
  conversation: {
    type: "text",
    value: "ID",
    help: "Id of the chat or channel, for telegram, discord, mattermost.",
  },
  "public-key": {
    type: "text",
    value: "HEX",
    help: "Public key of the application, for decisions in discord.",
  },
  "app-token": {
    type: "text",
    value: "TOKEN",
    help: `App-level token of slack_app, for Socket Mode. ${FROM_FILE}`,
  },
  "signing-secret": {
    type: "text",
    value: "SECRET",
    help: `Secret of a webhook or slack_app. ${FROM_FILE} [webhook: a new one]`,
  },
  groups: {
    type: "text",
    value: "GROUP,GROUP",
    help: "Announce only requests for these groups. [all]",
  },
  digest: {
    type: "text",
    value: "DURATION",
    help: "Send one summary in this time, not single messages. [off]",
  },
  "on-decision": { type: "flag", help: "Also send a message about each decision." },
  instances: {
    type: "text",
    value: "ID,ID",
    help: "Only requests of these instances. [all]",
  },
  decide: {
    type: "flag",
    help: "Let linked reviewers decide in messages. Needs --include-arguments.",
  },
  "include-arguments": { type: "flag", help: "Include the arguments of calls in messages." },
  "remind-before": {
    type: "text",
    value: "DURATION",
    help: "Time of a reminder before the deadline. [none]",
  },
};

type Required = readonly ["url" | "to" | "token" | "slackChannel" | "conversation", string];

const TARGET: Required = ["url", "target"];
const TOKEN: Required = ["token", "access-token"];
const CONVERSATION: Required = ["conversation", "conversation"];

/** The required options of a kind. */
const REQUIRED: Readonly<Record<Channel["kind"], readonly Required[]>> = {
  webhook: [TARGET],
  slack: [TARGET],
  teams: [TARGET],
  ntfy: [TARGET],
  email: [["to", "to"]],
  slack_app: [TOKEN, ["slackChannel", "slack-channel"]],
  telegram: [TOKEN, CONVERSATION],
  discord: [TOKEN, CONVERSATION],
  mattermost: [TARGET, TOKEN, CONVERSATION],
};

export const channelsCreate: Command = {
  usage: `channels create ${CHANNEL_KINDS.join("|")}`,
  help: "Create a notification channel for reviewers.",
  example: "channels create email --name ops --to ops@example.com",
  settings: ["client"],
  options: OPTIONS,

  async run(line, terminal) {
    const [value] = line.take(KINDS);
    const kind = CHANNEL_KINDS.find((known) => known === value);
    if (kind === undefined) throw usageError(`the kind of a channel is one of ${KINDS}`);
    const name = line.text("name");
    if (!name) throw usageError("--name is missing");
    const remindBefore = line.text("remind-before");
    if (remindBefore !== undefined && parseDuration(remindBefore) === undefined) {
      throw usageError("--remind-before must be a duration, such as 5m");
    }
    const url = secretOf(line, "target");
    const to = namesOf(line, "to");
    const token = secretOf(line, "access-token");
    const slackChannel = line.text("slack-channel");
    const conversation = line.text("conversation");
    const values = { url, to: to?.join(), token, slackChannel, conversation };
    for (const [field, option] of REQUIRED[kind]) {
      if (!values[field]) throw usageError(`--${option} is missing`);
    }
    const body = {
      name,
      kind,
      url,
      to,
      token,
      slack_channel: slackChannel,
      conversation,
      public_key: line.text("public-key"),
      signing_secret: secretOf(line, "signing-secret"),
      groups: namesOf(line, "groups"),
      app_token: secretOf(line, "app-token"),
      ...(line.flag("include-arguments") && { include_arguments: true }),
      ...(line.flag("decide") && { decide: true }),
      ...(line.flag("on-decision") && { on_decision: true }),
      instances: namesOf(line, "instances"),
      digest: digestOf(line),
      remind_before: remindBefore,
    };
    const channel = await connectApi(line).call("POST /channels", { body });
    print(channel, line, terminal);
    if (channel.signing_secret !== undefined && !line.json) {
      terminal.out(`secret     ${channel.signing_secret}`);
      terminal.note("The secret is displayed once. Receivers use it to verify messages.");
    }
    return EXIT.done;
  },
};

export const channelsList: Command = {
  usage: "channels list",
  help: "List channels and the outcome of their last message.",
  example: "channels list",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    line.take();
    const { channels } = await connectApi(line).call("GET /channels");
    if (line.json) terminal.out(`[${channels.map(exactText).join(",")}]`);
    else if (channels.length === 0) terminal.out("There are no channels.");
    else terminal.out(table(channels));
    return EXIT.done;
  },
};

export const channelsTest: Command = {
  usage: "channels test NAME|ID",
  help: "Send a test message and show the outcome.",
  example: "channels test ops",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [api, { id }] = await findChannel(line);
    const tested = await api.call("POST /channels/{id}/test", { path: { id } });
    terminal.out(line.json ? exactText(tested) : `${tested.outcome}: ${tested.message}`);
    return tested.outcome === "sent" ? EXIT.done : EXIT.refused;
  },
};

export const channelsDisable: Command = {
  usage: "channels disable NAME|ID",
  help: "Pause a channel; drop its pending announcements.",
  example: "channels disable ops",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    return setDisabled(true, line, terminal);
  },
};

export const channelsEnable: Command = {
  usage: "channels enable NAME|ID",
  help: "Resume a paused channel for new requests.",
  example: "channels enable ops",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    return setDisabled(false, line, terminal);
  },
};

export const channelsDelete: Command = {
  usage: "channels delete NAME|ID",
  help: "Delete a channel.",
  example: "channels delete ops",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    const [api, { id }] = await findChannel(line);
    const deleted = await api.call("DELETE /channels/{id}", { path: { id } });
    terminal.out(line.json ? exactText(deleted) : `Deleted ${visibleText(deleted.name)}.`);
    return EXIT.done;
  },
};

async function setDisabled(
  disabled: boolean,
  line: SettingsLine,
  terminal: Terminal,
): Promise<ExitCode> {
  const [api, { id }] = await findChannel(line);
  const changed = await api.call("PATCH /channels/{id}", { path: { id }, body: { disabled } });
  return print(changed, line, terminal);
}

/** @throws CommandError when the project has no channel of the given name or id */
async function findChannel(line: SettingsLine): Promise<readonly [ReviewerApi, Channel]> {
  const [value = ""] = line.take("the name or id of the channel");
  const api = connectApi(line);
  const { channels } = await api.call("GET /channels");
  const found =
    channels.find(({ name }) => name === value) ?? channels.find(({ id }) => id === value);
  if (found === undefined)
    throw usageError("there is no channel with this name or id; see channels list");
  return [api, found];
}

function digestOf(line: SettingsLine): string | undefined {
  const digest = line.text("digest");
  if (digest === undefined || parseDuration(digest) !== undefined) return digest;
  throw usageError("--digest must be a duration, such as 1h");
}

/** A file may supply the secret, because other users of the machine can read command lines. */
function secretOf(line: SettingsLine, option: string): string | undefined {
  const value = line.text(option);
  if (value === undefined || !value.startsWith("@")) return value;
  const file = value.slice(1);
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8").trim();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw usageError(`--${option}: ${file} cannot be read (${code})`);
  }
}

function print(channel: Channel, line: SettingsLine, terminal: Terminal): ExitCode {
  terminal.out(line.json ? exactText(channel) : card(channel));
  return EXIT.done;
}

function card(channel: Channel): string {
  const { id, name, kind, target, state, failures, last } = channel;
  const { decide } = channel;
  return [
    `channel    ${visibleText(name)}  ${id}`,
    `target     ${kind} ${visibleText(target)}`,
    `groups     ${groupsOf(channel)}`,
    `state      ${state}`,
    ...(channel.digest === undefined ? [] : [`digest     every ${channel.digest}`]),
    ...(channel.on_decision ? ["decisions  sends a message about each decision"] : []),
    ...(channel.instances.length === 0 ? [] : [`instances  ${channel.instances.join(", ")}`]),
    ...(decide ? ["decide     linked reviewers can decide in messages"] : []),
    ...eventLines(channel),
    ...(last === undefined ? [] : [`last       ${lastOf(last)} at ${last.at}`]),
    ...(failures === 0 ? [] : [`failures   ${failures} in a row`]),
  ].join("\n");
}

/** How events arrive: over a connection, or else over HTTP. */
function eventLines({ connection, events_url: eventsUrl }: Channel): string[] {
  if (connection !== undefined) return [`connection ${connection.state}`];
  return eventsUrl === undefined ? [] : [`events     ${eventsUrl}`];
}

function table(channels: readonly Channel[]): string {
  const rows = channels.map((channel) => {
    const { name, kind, target, state, last } = channel;
    const result = last === undefined ? "nothing yet" : lastOf(last);
    const cells = [visibleText(name), kind, visibleText(target), groupsOf(channel)];
    return [...cells, state === "enabled" ? result : state];
  });
  return renderColumns([["NAME", "KIND", "LEADS TO", "TELLS OF", "LAST"], ...rows]);
}

function groupsOf({ groups }: Channel): string {
  return groups.length === 0 ? "all" : groups.map(visibleText).join(",");
}

function lastOf({ outcome, status }: LastSending): string {
  return status === undefined ? visibleText(outcome) : `${visibleText(outcome)} ${status}`;
}
