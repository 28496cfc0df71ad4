/**
 * Builds the console to static files in dist/, which the server serves: `npm run build`. Addresses
 * in them are relative, because a proxy may put a path in front.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build, type InlineConfig, type Plugin } from "vite";

const SERVICE_WORKER = "sw";

/** The console, and the pages that open before anybody is signed in. */
const PAGES = ["index", "sign-in", "invitation", "setup-complete", "sign-in-failed"];

/**
 * The first style that a page loads says which layer is above which, and the build decides which
 * one that is: so each of them says it.
 */
const layerOrder: Plugin = {
  name: "layer-order",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== "asset" || !file.fileName.endsWith(".css")) continue;
      file.source = `@layer tokens,base,parts,layout,screens;${file.source}`;
    }
  },
};

const OPTIONS = {
  configFile: false,
  root: import.meta.dirname,
  base: "./",
  logLevel: "warn",
} as const satisfies InlineConfig;

const BUILD = {
  // Browsers that have `light-dark()` and cascade layers.
  target: ["chrome123", "firefox128", "safari17.5"],
  outDir: "dist",
  reportCompressedSize: false,
} as const satisfies BuildOptions;

function pathOf(file: string): string {
  return join(import.meta.dirname, file);
}

await build({
  ...OPTIONS,
  plugins: [layerOrder],
  worker: { format: "es" },
  // A catalogue is one object. Each text as an export of its own makes the file larger.
  json: { namedExports: false },
  // Templates of the Policies screen.
  resolve: {
    alias: { "@policy-templates": pathOf("../../examples/policies") },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    ...BUILD,
    emptyOutDir: true,
    // Scripts and styles are files of the server, or they do not run.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: Object.fromEntries(PAGES.map((name) => [name, pathOf(`${name}.html`)])),
    },
  },
});

// By itself: a service worker is one script, and shares no file with the pages.
await build({
  ...OPTIONS,
  build: {
    ...BUILD,
    emptyOutDir: false,
    copyPublicDir: false,
    rolldownOptions: {
      input: { [SERVICE_WORKER]: pathOf("src/device/service-worker.ts") },
      // A service worker serves what is below its own address.
      output: { entryFileNames: "[name].js" },
    },
  },
});

/** The service worker keeps all of them for a device without a connection. */
const dist = pathOf("dist");
const worker = join(dist, `${SERVICE_WORKER}.js`);
const assets = JSON.stringify(readdirSync(join(dist, "assets")));
const source = readFileSync(worker, "utf8");
const filled = source.replace("__ASSETS__", () => assets.replaceAll('"', '\\"'));
if (filled === source)
  throw new Error("the service worker has no place for the names of the files");
writeFileSync(worker, filled);
