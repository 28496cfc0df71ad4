import { parseWebhookUrl } from "@countersign/protocol";
import type { SecretSettings, Settings } from "../config/settings.ts";
import { createCollectorEgress, type EgressParts } from "../egress/create-egress.ts";
import { signingKeyOf } from "../secrets/keyring.ts";
import type { AuditSink } from "./audit-sink.ts";
import { type AppendText, appendToFile, FileAuditSink } from "./file-audit-sink.ts";
import { HttpAuditSink } from "./http-audit-sink.ts";

export interface AuditSinkParts extends EgressParts {
  /** Writes lines to standard output between the lines of the log. */
  readonly print: AppendText;
}

/** Creates the destinations of the audit stream that the operator has set. */
export function createAuditSinks(
  settings: Settings,
  { auditStream: secrets }: Pick<SecretSettings, "auditStream">,
  { print, ...parts }: AuditSinkParts,
): readonly AuditSink[] {
  const { format, file } = settings.auditStream;
  const { signingSecret, authorization } = secrets;
  // The collector belongs to the operator, so its name may be internal.
  const url = parseWebhookUrl(secrets.url ?? "", { internalNames: true });
  const sinks: AuditSink[] = [];
  if (url !== undefined) {
    const egress = createCollectorEgress(settings, parts);
    const signingKey = signingSecret === undefined ? undefined : signingKeyOf(signingSecret);
    const http = { egress, clock: parts.clock, url, format, signingKey, authorization };
    sinks.push(new HttpAuditSink(http));
  }
  if (file !== undefined) {
    sinks.push(new FileAuditSink(parts.clock, file === "-" ? print : appendToFile(file)));
  }
  return sinks;
}
