/**
 * Bundles the hook with everything that it imports to dist/, which both programs run. The hook
 * starts before every tool call, and the load of separate modules takes most of the time.
 */

import { join } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";

/** Where `npm run build` writes the bundle. */
export const DIST = join(import.meta.dirname, "dist");

/**
 * Loads a module of Node at its first use, instead of at the start. Most calls in a session need
 * neither cryptography nor a connection.
 */
const lazyNodeModules: Plugin = {
  name: "lazy-node-modules",
  renderChunk(code, { isEntry }) {
    if (isEntry) return null;
    const declaration = /^let (node_\w+) = require\("(node:[\w/]+)"\);\n/gm;
    const declared = [...code.matchAll(declaration)];
    return declared.reduce((text, [whole, variable, name]) => {
      const use = new RegExp(`\\b${variable}\\.`, "g");
      return text.replace(whole ?? "", "").replace(use, `require("${name}").`);
    }, code);
  },
};

/**
 * @param dir takes the files
 * @throws Error if the bundle needs another package
 */
export async function buildHook(dir: string): Promise<void> {
  const build = await rolldown({
    // The comments in the bundle name the source files relative to this folder.
    cwd: import.meta.dirname,
    input: { hook: join(import.meta.dirname, "src/hook/start-hook.ts") },
    platform: "node",
    external: /^node:/,
    plugins: [lazyNodeModules],
  });
  const { output } = await build.write({
    dir,
    // CommonJS starts faster than ES modules.
    format: "cjs",
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
  });
  await build.close();
  const chunks = output.filter((file): file is OutputChunk => file.type === "chunk");
  const own = chunks.map(({ fileName }) => fileName);
  const imported = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const missing = imported.filter((name) => !name.startsWith("node:") && !own.includes(name));
  if (missing.length > 0) throw new Error(`Could not bundle ${missing.join(", ")}.`);
}

if (import.meta.main) await buildHook(DIST);
