import type { StreamFormat } from "../core/audit-stream.ts";
import { VERSION } from "../version.ts";
import { writeCloudEvent } from "./cloud-event.ts";
import { writeOcsfEvent } from "./ocsf-event.ts";
import type { SealedEntry } from "./sealed-entries.ts";

/** An entry as one line of JSON, for a SIEM. */
export function writeStreamEvent(format: StreamFormat, entry: SealedEntry): string {
  return format === "ocsf" ? writeOcsfEvent(entry, VERSION) : writeCloudEvent(entry);
}
