/** Reports when a collector fails and when it accepts data again, once for each outage. */

import type { TelemetryOptions } from "@countersign/server/telemetry-interface";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";

interface Exporter<Items> {
  export(items: Items, done: (result: ExportResult) => void): void;
}

/** @returns adds the observer to an exporter, which it returns */
export function observeExports(
  observer: Pick<TelemetryOptions, "onLost" | "onRestored">,
): <T extends Exporter<never>>(to: T) => T {
  let isLost = false;
  const note = ({ code, error }: ExportResult): void => {
    const hasFailed = code !== ExportResultCode.SUCCESS;
    if (hasFailed === isLost) return;
    isLost = hasFailed;
    if (hasFailed) observer.onLost(error ?? new Error("the collector rejected the export"));
    else observer.onRestored();
  };
  return (exporter) => {
    const send = exporter.export.bind(exporter);
    exporter.export = (items, done) =>
      send(items, (result) => {
        note(result);
        done(result);
      });
    return exporter;
  };
}
