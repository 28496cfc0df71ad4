import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";
import { startTestProvider } from "../../server/test/support/test-provider.ts";

test("[ours.telemetry.package] without the package, the server does not start and names the command that installs it", async (t) => {
  // Resolves the package from a folder without packages, as in an installation without it.
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      if (specifier !== "@countersign/telemetry") return next(specifier, context);
      return next(specifier, { ...context, parentURL: "file:///nowhere/index.js" });
    },
  });
  t.after(() => hooks.deregister());
  const started = startTestProvider(t, { settings: { telemetry: "otlp" } });
  await assert.rejects(started, /Run npm install @countersign\/telemetry, or set telemetry to off/);
});

test("an unknown exporter is rejected with the accepted ones", async (t) => {
  const started = startTestProvider(t, { settings: { telemetry: "zipkin" } });
  await assert.rejects(started, /telemetry: must be one of off, otlp/);
});
