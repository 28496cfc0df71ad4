/**
 * What `countersign conformance` is told on its command line. Secrets come from files, since what
 * stands on a command line can be read by others.
 */

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import {
  type CertificateAuthority,
  type ConformanceOptions,
  commandDecider,
  countersignDecider,
  createAuthority,
  type Decider,
  isUsable,
  type ReceiverOptions,
  type Timing,
  urlDecider,
} from "@countersign/conformance";
import { parseDuration } from "@countersign/protocol";
import type { CommandLine, OwnOptions } from "./command-line.ts";
import { CommandError, EXIT, usageError } from "./exit.ts";

const FILE = "FILE";

export const CONFORMANCE_OPTIONS: OwnOptions = {
  "provisioner-token-file": { type: "text", value: FILE, help: "Token that makes instances." },
  "other-provisioner-token-file": {
    type: "text",
    value: FILE,
    help: "Token of a provisioner with another scope, for what must be kept from it.",
  },
  "provider-ca": {
    type: "text",
    value: FILE,
    help: "Roots to trust the provider's certificate by.",
  },
  decider: { type: "text", value: "NAME", help: "countersign: decide by its reviewer surface." },
  "decider-url": {
    type: "text",
    value: "URL",
    help: "Is sent verdicts; of --decider countersign, where it is. [BASE_URL]",
  },
  "decider-token-file": { type: "text", value: FILE, help: "Bearer token for the decider." },
  "decider-command": {
    type: "text",
    value: "PROGRAM",
    help: "Is run with request id, approve or deny, and perhaps a note.",
  },
  "receiver-host": { type: "text", value: "HOST", help: "How the provider reaches this machine." },
  "receiver-port": { type: "text", value: "PORT", help: "Of the receiver. [a free one]" },
  "receiver-other-port": {
    type: "text",
    value: "PORT",
    help: "Of one with a certificate that must not be trusted. [a free one]",
  },
  "receiver-listen": { type: "text", value: "ADDRESS", help: "What the receiver listens on." },
  "receiver-ca": {
    type: "text",
    value: "DIR",
    help: "Authority that the provider trusts for the receiver; made there if it is not.",
  },
  "synchronous-only": { type: "flag", help: "The provider claims no asynchronous mode." },
  only: { type: "text", value: "ID,ID", help: "Scenarios to run, or beginnings of ids." },
  skip: { type: "text", value: "ID,ID", help: "Scenarios to leave out, which counts as untested." },
  list: { type: "flag", help: "Print scenarios and requirements, and run nothing." },
  "allow-untested": { type: "flag", help: "Exit with 0 although something was not tested." },
  timeout: { type: "text", value: "DURATION", help: "For the whole run. [5m]" },
  "retry-patience": { type: "text", value: "DURATION", help: "For a repeated notification. [60s]" },
  "longest-wait": {
    type: "text",
    value: "DURATION",
    help: "For windows and approvals that the provider makes long. [15s]",
  },
  quiet: {
    type: "text",
    value: "DURATION",
    help: "How long nothing may come where nothing may. [7s]",
  },
  json: { type: "text", value: FILE, help: "Write the report there as JSON." },
  junit: { type: "text", value: FILE, help: "Write the report there as JUnit XML." },
};

/** @throws CommandError when something is missing, or cannot be read */
export function readConformanceOptions(
  line: CommandLine,
): Omit<ConformanceOptions, "onOutcome" | "signal"> {
  const [baseUrl = ""] = line.take("BASE_URL");
  if (!/^https?:\/\/[^/]/.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw usageError("BASE_URL is the provider's address, like https://approvals.example.com");
  }
  const provisionerToken = secret(line, "provisioner-token-file");
  if (provisionerToken === undefined) throw usageError("--provisioner-token-file is missing");
  const otherProvisionerToken = secret(line, "other-provisioner-token-file");
  const decider = readDecider(line, baseUrl);
  const receiver = readReceiver(line);
  const providerCa = line.text("provider-ca");
  const [only, skip] = [names(line, "only"), names(line, "skip")];
  return {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    credential: {
      provisionerToken,
      ...(otherProvisionerToken !== undefined && { otherProvisionerToken }),
    },
    ...(decider !== undefined && { decider }),
    ...(receiver !== undefined && { receiver }),
    ...(providerCa !== undefined && { providerCa: read(providerCa) }),
    ...(only !== undefined && { only }),
    ...(skip !== undefined && { skip }),
    synchronousOnly: line.flag("synchronous-only"),
    timing: readTiming(line),
  };
}

function readDecider(line: CommandLine, baseUrl: string): Decider | undefined {
  const name = line.text("decider");
  const url = line.text("decider-url");
  const command = line.text("decider-command");
  const token = secret(line, "decider-token-file");
  if (command !== undefined) {
    if (name ?? url ?? token) throw usageError("--decider-command is the only decider, or none");
    return commandDecider(command);
  }
  if (name === undefined) {
    if (url !== undefined) return urlDecider({ url, ...(token !== undefined && { token }) });
    if (token !== undefined)
      throw usageError("--decider-token-file is for a decider that is named");
    return undefined;
  }
  if (name !== "countersign") throw usageError("the decider that is built in is countersign");
  if (token === undefined) throw usageError("--decider countersign takes --decider-token-file");
  return countersignDecider({ url: url ?? baseUrl, token });
}

function readReceiver(line: CommandLine): ReceiverOptions | undefined {
  const host = line.text("receiver-host");
  const listen = line.text("receiver-listen");
  const folder = line.text("receiver-ca");
  if (host === undefined) {
    if (folder === undefined && listen === undefined) return undefined;
    throw usageError("--receiver-host says how the provider reaches the receiver");
  }
  if (!/^[\w.-]+$/.test(host) && isIP(host) === 0) {
    throw usageError("--receiver-host is a name or an address, without port or brackets");
  }
  if (folder === undefined) throw usageError("--receiver-ca names a folder for the authority");
  return {
    host,
    port: port(line, "receiver-port"),
    otherPort: port(line, "receiver-other-port"),
    ...(listen !== undefined && { listen }),
    authority: readAuthority(folder),
  };
}

/** @throws CommandError when there was none, since no provider can trust it yet */
function readAuthority(folder: string): CertificateAuthority {
  const [certificateFile, keyFile] = ["receiver-ca.pem", "receiver-ca.key"].map((name) => {
    return join(folder, name);
  }) as [string, string];
  if (!existsSync(keyFile)) {
    const authority = createAuthority();
    mkdirSync(folder, { recursive: true });
    writeFileSync(keyFile, authority.key, { mode: 0o600, flag: "wx" });
    chmodSync(keyFile, 0o600);
    writeFileSync(certificateFile, authority.certificate);
    const advice = `let the provider trust ${certificateFile}, then run this again`;
    throw new CommandError(EXIT.refused, "new_authority", `an authority was made: ${advice}`);
  }
  const authority = { certificate: read(certificateFile), key: read(keyFile) };
  if (isUsable(authority)) return authority;
  throw usageError(`the authority in ${folder} has expired, or key and certificate differ`);
}

function readTiming(line: CommandLine): Partial<Timing> {
  const options = ["timeout", "retry-patience", "quiet", "longest-wait"];
  const [totalMs, retryPatienceMs, quietMs, windowMsMax] = options.map((name) => {
    const text = line.text(name);
    const ms = text === undefined ? undefined : parseDuration(text);
    if (text !== undefined && (ms === undefined || ms > 86_400_000)) {
      throw usageError(`--${name} is a duration of a day at most, like 90s`);
    }
    return ms;
  });
  return {
    ...(totalMs !== undefined && { totalMs }),
    ...(retryPatienceMs !== undefined && { retryPatienceMs }),
    ...(quietMs !== undefined && { quietMs }),
    ...(windowMsMax !== undefined && { windowMsMax }),
  };
}

function names(line: CommandLine, option: string): readonly string[] | undefined {
  return line
    .text(option)
    ?.split(",")
    .map((name) => name.trim());
}

function port(line: CommandLine, option: string): number {
  const text = line.text(option) ?? "0";
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number < 65_536) return number;
  throw usageError(`--${option} is a port`);
}

function secret(line: CommandLine, option: string): string | undefined {
  const file = line.text(option);
  if (file === undefined) return undefined;
  const text = read(file).trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw usageError(`${file} holds no token that a header could carry`);
}

/** @throws CommandError */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError(`${file} cannot be read: ${code}`);
  }
}
