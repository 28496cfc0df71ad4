/** Connects to the reviewer API with the settings of a command. */

import { usageError } from "@countersign/command-line";
import { ReviewerApi } from "./reviewer-api.ts";
import type { SettingsLine } from "./settings-line.ts";

/** @throws CommandError when the URL or the token cannot be used */
export function connectApi(line: SettingsLine): ReviewerApi {
  const { url, token } = line.config();
  if (token === undefined || token === "") {
    const hint = "countersign tokens create reviewer --name NAME";
    throw usageError(`COUNTERSIGN_TOKEN is not set; create a token with: ${hint}`);
  }
  // Otherwise the error about the header would contain the token.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw usageError("COUNTERSIGN_TOKEN contains characters that are not allowed in a token");
  }
  assertSafeUrl(url);
  return new ReviewerApi(url, token);
}

/** @throws CommandError when the URL is invalid, or would send a token unencrypted */
export function assertSafeUrl(url: string): void {
  if (!URL.canParse(url) || !/^https?:/.test(url)) {
    throw usageError("--url must start with http:// or https://");
  }
  if (!isPrivate(new URL(url))) {
    throw usageError("http:// would send the token unencrypted; use https:// for this host");
  }
}

/** Whether the network cannot read the token. */
function isPrivate({ protocol, hostname }: URL): boolean {
  if (protocol === "https:" || hostname === "localhost" || hostname === "[::1]") return true;
  return /^127(\.\d+){3}$/.test(hostname);
}
