/**
 * An audit entry as an event of CloudEvents 1.0.2, in the JSON event format.
 *
 * @see https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md
 * @see https://github.com/cloudevents/spec/blob/main/cloudevents/extensions/sequence.md
 */

import { writeEntry } from "../core/audit-line.ts";
import type { SealedEntry } from "./sealed-entries.ts";

/** Digits of the largest safe integer: the order of the texts is the order of the numbers. */
const SEQUENCE_DIGITS = 16;

/**
 * One line of JSON. `data` contains the exact bytes of the entry, so their hash is the leaf of the
 * log. The pair of `source` and `id` is unique.
 */
export function writeCloudEvent({ origin, position, entry }: SealedEntry): string {
  const time = new Date(entry.at);
  const attributes = {
    specversion: "1.0",
    id: entry.id,
    source: origin,
    type: `countersign.audit.${entry.kind}`,
    subject: entry.subject,
    // The attribute is optional, and an altered row may contain an invalid time.
    time: Number.isNaN(time.getTime()) ? undefined : time.toISOString(),
    sequence: String(position).padStart(SEQUENCE_DIGITS, "0"),
    datacontenttype: "application/json",
  };
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${writeEntry(entry)}}`;
}
