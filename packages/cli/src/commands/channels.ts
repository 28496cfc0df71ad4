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

const FROM_FILE = "@FILE reads it from there, @- from the input.";

const OPTIONS: CommandOptions = {
  name: { type: "text", value: "NAME", help: "What it is called. Required." },
  target: { type: "text", value: "URL", help: `Where it leads, but for email. ${FROM_FILE}` },
  to: { type: "text", value: "ADDRESS,ADDRESS", help: "For email: whom it tells." },
  "access-token": { type: "text", value: "TOKEN", help: `For ntfy: of the topic. ${FROM_FILE}` },
  "signing-secret": {
    type: "text",
    value: "SECRET",
    help: `For webhook. ${FROM_FILE} [a new one]`,
  },
  groups: { type: "text", value: "GROUP,GROUP", help: "Only what asks one of these. [all]" },
  "include-arguments": { type: "flag", help: "Show the arguments of calls." },
  "remind-before": { type: "text", value: "DURATION", help: "Tell once more before the deadline." },
};

export const channelsCreate: Command = {
  usage: "channels create webhook|email|slack|ntfy",
  help: "Tell people through a channel what waits for them.",
  settings: ["client"],
  options: OPTIONS,

  async run(line, terminal) {
    const [value] = line.take(KINDS);
    const kind = CHANNEL_KINDS.find((known) => known === value);
    if (kind === undefined) throw usageError(`a channel is one of ${KINDS}`);
    const name = line.text("name");
    if (!name) throw usageError("--name is missing");
    const remindBefore = line.text("remind-before");
    if (remindBefore !== undefined && parseDuration(remindBefore) === undefined) {
      throw usageError("--remind-before is a duration like 5m");
    }
    const url = secretOf(line, "target");
    const to = namesOf(line, "to");
    if (kind !== "email" && !url) throw usageError("--target is missing");
    if (kind === "email" && !to?.length) throw usageError("--to is missing");
    const body = {
      name,
      kind,
      url,
      to,
      token: secretOf(line, "access-token"),
      signing_secret: secretOf(line, "signing-secret"),
      groups: namesOf(line, "groups"),
      ...(line.flag("include-arguments") && { include_arguments: true }),
      remind_before: remindBefore,
    };
    const channel = await connectApi(line).call("POST /channels", { body });
    print(channel, line, terminal);
    if (channel.signing_secret !== undefined && !line.json) {
      terminal.out(`secret     ${channel.signing_secret}`);
      terminal.note("The secret is shown this once: it verifies what comes from this channel.");
    }
    return EXIT.done;
  },
};

export const channelsList: Command = {
  usage: "channels list",
  help: "List channels with how their last message went.",
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
  help: "Send a message that says it is a test, and tell what happened.",
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
  help: "Tell nothing through a channel, also of what waits.",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    return setDisabled(true, line, terminal);
  },
};

export const channelsEnable: Command = {
  usage: "channels enable NAME|ID",
  help: "Use a channel again, for what comes from now on.",
  settings: ["client"],
  options: {},

  async run(line, terminal) {
    return setDisabled(false, line, terminal);
  },
};

export const channelsDelete: Command = {
  usage: "channels delete NAME|ID",
  help: "Remove a channel.",
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
  if (found === undefined) throw usageError("there is no channel of this name or id");
  return [api, found];
}

/** What other users of the machine should not read on a command line may come from a file. */
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
  return [
    `channel    ${visibleText(name)}  ${id}`,
    `leads to   ${kind} ${visibleText(target)}`,
    `tells of   ${groupsOf(channel)}`,
    `state      ${state}`,
    ...(last === undefined ? [] : [`last       ${lastOf(last)} at ${last.at}`]),
    ...(failures === 0 ? [] : [`failures   ${failures} in a row`]),
  ].join("\n");
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
