/** The webhook receiver of an agent, from a file: the signing secret must not be an argument. */

import { readFileSync } from "node:fs";
import { usageError } from "@countersign/command-line";
import { type ProposedDelivery, Provisioner } from "@countersign/sdk";
import { assertSafeUrl } from "./connect-api.ts";
import type { SettingsLine } from "./settings-line.ts";

/** Removes the receiver. */
export const NO_DELIVERY = "none";

const MEMBERS = ["url", "registration_id", "signing_secret"] as const;

/** The server waits up to 10 s for the answer of a receiver. */
const RETRY_FOR = "30s";

const PROVISIONER_PREFIX = "cs_prov_";

/** Whether the token is a provisioner token. */
export function isProvisioner(token: string | undefined): token is string {
  return token?.startsWith(PROVISIONER_PREFIX) === true;
}

/**
 * The server at `--url`, for changes of a receiver.
 *
 * @throws CommandError without a provisioner token, because only provisioners set receivers
 */
export function connectProvisioner(line: SettingsLine): Provisioner {
  const { url, token } = line.config();
  if (!isProvisioner(token)) {
    const hint = "countersign tokens create provisioner --name NAME";
    throw usageError(`--delivery needs a provisioner token in COUNTERSIGN_TOKEN; run: ${hint}`);
  }
  assertSafeUrl(url);
  return new Provisioner({ url, token, retryFor: RETRY_FOR });
}

/**
 * Reads the object `delivery` of the contract. The member `type` may be missing.
 *
 * @throws CommandError without the content of the file, which contains a secret
 */
export function readDelivery(file: string): ProposedDelivery {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const { code, message } = Object(error) as NodeJS.ErrnoException;
    const reason = code === undefined ? "it is not valid JSON" : message;
    throw usageError(`cannot read --delivery ${file}: ${reason}`);
  }
  const { type = "webhook", ...members } = Object(value) as Record<string, unknown>;
  if (type !== "webhook") {
    throw usageError(`the type in --delivery ${file} must be "webhook", the only type of receiver`);
  }
  const { url, registration_id: registrationId, signing_secret: signingSecret } = members;
  if (
    Object.keys(members).length !== MEMBERS.length ||
    typeof url !== "string" ||
    typeof registrationId !== "string" ||
    typeof signingSecret !== "string"
  ) {
    const names = `${MEMBERS.join(", ")}, and optionally "type": "webhook"`;
    throw usageError(`--delivery ${file} must be a JSON object with exactly the texts ${names}`);
  }
  return { url, registrationId, signingSecret };
}
