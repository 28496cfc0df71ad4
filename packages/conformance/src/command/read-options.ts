/**
 * The options of the command. Secrets come from files: other users can read a command line.
 */

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import {
  CommandError,
  type CommandLine,
  type CommandOptions,
  EXIT,
  usageError,
} from "@countersign/command-line";
import { parseDuration } from "@countersign/protocol";
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
} from "../index.ts";

const FILE = "FILE";

export const CONFORMANCE_OPTIONS: CommandOptions = {
  "provisioner-token-file": { type: "text", value: FILE, help: "Token that creates instances." },
  "other-provisioner-token-file": {
    type: "text",
    value: FILE,
    help: "Token of a provisioner with another scope, to test isolation.",
  },
  "provider-ca": { type: "text", value: FILE, help: "CA certificates of the provider." },
  decider: {
    type: "text",
    value: "NAME",
    help: "Set to countersign to decide through its reviewer API.",
  },
  "decider-url": {
    type: "text",
    value: "URL",
    help: "URL that receives verdicts. With --decider countersign, its URL. [BASE_URL]",
  },
  "decider-token-file": { type: "text", value: FILE, help: "Bearer token of the decider." },
  "decider-command": {
    type: "text",
    value: "PROGRAM",
    help: "Program that decides. Arguments: request id, approve or deny, note.",
  },
  "receiver-host": {
    type: "text",
    value: "HOST",
    help: "Name or address at which the provider reaches this machine.",
  },
  "receiver-port": { type: "text", value: "PORT", help: "Port of the receiver. [a free one]" },
  "receiver-other-port": {
    type: "text",
    value: "PORT",
    help: "Port of a receiver with an untrusted certificate. [a free one]",
  },
  "receiver-listen": { type: "text", value: "ADDRESS", help: "Address to listen on." },
  "receiver-ca": {
    type: "text",
    value: "DIR",
    help: "Certificate authority of the receiver. Created if it does not exist.",
  },
  "synchronous-only": { type: "flag", help: "The provider has no asynchronous mode." },
  only: { type: "text", value: "ID,ID", help: "Scenarios to run: ids or their prefixes." },
  skip: { type: "text", value: "ID,ID", help: "Scenarios to skip. They count as untested." },
  list: { type: "flag", help: "Print scenarios and requirements, and run nothing." },
  "allow-untested": { type: "flag", help: "Exit with 0 if some requirements are untested." },
  timeout: { type: "text", value: "DURATION", help: "Limit of the whole run. [5m]" },
  "retry-patience": {
    type: "text",
    value: "DURATION",
    help: "Maximum wait for a repeated notification. [60s]",
  },
  "longest-wait": {
    type: "text",
    value: "DURATION",
    help: "Maximum wait until a request or an approval expires. [15s]",
  },
  quiet: {
    type: "text",
    value: "DURATION",
    help: "Wait before concluding that no notification was sent. [7s]",
  },
  json: { type: "text", value: FILE, help: "Write the report as JSON." },
  junit: { type: "text", value: FILE, help: "Write the report as JUnit XML." },
};

/** @throws CommandError for a missing option or a file that cannot be read */
export function readConformanceOptions(
  line: CommandLine,
): Omit<ConformanceOptions, "onOutcome" | "signal"> {
  const [baseUrl = ""] = line.take("BASE_URL");
  if (!/^https?:\/\/[^/]/.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw usageError("BASE_URL must be the provider's URL, such as https://approvals.example.com");
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
    if (name ?? url ?? token)
      throw usageError("--decider-command excludes the other options of a decider");
    return commandDecider(command);
  }
  if (name === undefined) {
    if (url !== undefined) return urlDecider({ url, ...(token !== undefined && { token }) });
    if (token !== undefined)
      throw usageError("--decider-token-file needs --decider or --decider-url");
    return undefined;
  }
  if (name !== "countersign") throw usageError("--decider must be countersign");
  if (token === undefined) throw usageError("--decider countersign needs --decider-token-file");
  return countersignDecider({ url: url ?? baseUrl, token });
}

function readReceiver(line: CommandLine): ReceiverOptions | undefined {
  const host = line.text("receiver-host");
  const listen = line.text("receiver-listen");
  const folder = line.text("receiver-ca");
  if (host === undefined) {
    if (folder === undefined && listen === undefined) return undefined;
    throw usageError("--receiver-host is missing: the address of the receiver for the provider");
  }
  if (!/^[\w.-]+$/.test(host) && isIP(host) === 0) {
    throw usageError("--receiver-host must be a name or an address, without port or brackets");
  }
  if (folder === undefined)
    throw usageError("--receiver-ca is missing: the folder of the certificate authority");
  return {
    host,
    port: port(line, "receiver-port"),
    otherPort: port(line, "receiver-other-port"),
    ...(listen !== undefined && { listen }),
    authority: readAuthority(folder),
  };
}

/** @throws CommandError if it was created now: no provider can trust it yet */
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
    const advice = `let the provider trust ${certificateFile}, then run the command again`;
    throw new CommandError(
      EXIT.refused,
      "new_authority",
      `a certificate authority was created: ${advice}`,
    );
  }
  const authority = { certificate: read(certificateFile), key: read(keyFile) };
  if (isUsable(authority)) return authority;
  throw usageError(
    `the authority in ${folder} has expired, or its key and certificate do not match`,
  );
}

function readTiming(line: CommandLine): Partial<Timing> {
  const options = ["timeout", "retry-patience", "quiet", "longest-wait"];
  const [totalMs, retryPatienceMs, quietMs, windowMsMax] = options.map((name) => {
    const text = line.text(name);
    const ms = text === undefined ? undefined : parseDuration(text);
    if (text !== undefined && (ms === undefined || ms > 86_400_000)) {
      throw usageError(`--${name} must be a duration up to 24h, such as 90s`);
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
  throw usageError(`--${option} must be a port from 0 to 65535`);
}

function secret(line: CommandLine, option: string): string | undefined {
  const file = line.text(option);
  if (file === undefined) return undefined;
  const text = read(file).trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw usageError(`${file} does not contain a valid token`);
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
