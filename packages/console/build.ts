/**
 * Builds the console to static files in dist/, which the server serves: `npm run build`. Addresses
 * in them are relative, because a proxy may put a path in front.
 */

import { build } from "vite";

await build({
  configFile: false,
  root: import.meta.dirname,
  base: "./",
  logLevel: "warn",
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    // What has `light-dark()` and cascade layers.
    target: ["chrome123", "firefox128", "safari17.5"],
    outDir: "dist",
    emptyOutDir: true,
    // Scripts and styles are files of the server, or they do not run.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
