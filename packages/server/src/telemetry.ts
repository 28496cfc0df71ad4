/** Loads the optional package that exports spans and metrics. Only a server with telemetry does. */

import type { Clock } from "./clock.ts";
import type { Settings } from "./config/settings.ts";
import { Misconfigured } from "./failure.ts";
import type { Report } from "./report.ts";
import type { Telemetry, TelemetryModule } from "./telemetry-interface.ts";
import { VERSION } from "./version.ts";

/** Not a literal in `import`, because the package is not a dependency of this one. */
const PACKAGE: string = "@countersign/telemetry";

/**
 * @returns undefined when telemetry is off
 * @throws Misconfigured when the package is not installed
 */
export async function startTelemetry(
  { telemetry }: Settings,
  report: Report,
): Promise<Telemetry | undefined> {
  if (telemetry === "off") return undefined;
  const module = await load();
  report.exposeExemplars();
  return module.startTelemetry({
    version: VERSION,
    readMetrics: () => report.readMetrics(),
    onLost: (error) => report.telemetryLost(error),
    onRestored: () => report.telemetryRestored(),
  });
}

/** A collector or database that does not answer must not delay the stop for longer. */
const LAST_EXPORT_MS_MAX = 3_000;

/** Exports the last spans and metrics, for a limited time. */
export async function closeTelemetry(
  telemetry: Telemetry | undefined,
  decisionsTraced: () => Promise<void>,
  clock: Clock,
): Promise<void> {
  if (telemetry === undefined) return;
  const late = Promise.withResolvers<void>();
  const cancel = clock.after(LAST_EXPORT_MS_MAX, () => late.resolve());
  const exported = decisionsTraced().then(() => telemetry.close());
  await Promise.race([exported, late.promise]);
  cancel();
}

async function load(): Promise<TelemetryModule> {
  try {
    return (await import(PACKAGE)) as TelemetryModule;
  } catch (error) {
    const { code, message } = Object(error) as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes(`'${PACKAGE}'`)) throw error;
    throw new Misconfigured(
      "telemetry",
      `telemetry is otlp, but the package ${PACKAGE} is not installed. ` +
        `Run npm install ${PACKAGE}, or set telemetry to off.`,
    );
  }
}
