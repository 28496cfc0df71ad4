/**
 * Log events for the operator: one line of JSON on stderr for each event. Never arguments,
 * results, tokens, headers or environments.
 */

import { formatTimestamp } from "@countersign/protocol";
import { systemTiming } from "@countersign/sdk";

export type Report = (event: string, fields?: Readonly<Record<string, unknown>>) => void;

export const reportToStderr: Report = (event, fields = {}) => {
  const line = {
    time: formatTimestamp(systemTiming.now()),
    event: `mcp_gateway.${event}`,
    ...fields,
  };
  process.stderr.write(`${JSON.stringify(line)}\n`);
};

/** The same, with what all events of one place have in common. */
export function reportAbout(report: Report, common: Readonly<Record<string, unknown>>): Report {
  return (event, fields) => report(event, { ...common, ...fields });
}

export function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
