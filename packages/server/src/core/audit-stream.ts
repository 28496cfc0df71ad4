/** The stream of audit entries to a SIEM: where it goes, and in which format. */

export const STREAM_FORMATS = ["cloudevents", "ocsf"] as const;

export type StreamFormat = (typeof STREAM_FORMATS)[number];

/** Kinds of destinations. A server has at most one of each. */
export const SINK_KINDS = ["http", "file"] as const;

export type SinkKind = (typeof SINK_KINDS)[number];

export function parseStreamFormat(text: string): StreamFormat | undefined {
  return STREAM_FORMATS.find((format) => format === text);
}
