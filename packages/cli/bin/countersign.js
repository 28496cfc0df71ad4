#!/usr/bin/env node
// Plain JavaScript that any Node can parse: it decides whether this Node can run the rest.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `countersign needs Node 24 or newer; this is Node ${process.versions.node} (${process.execPath}).`,
  );
  process.exitCode = 2;
} else {
  const { enableCompileCache } = await import("node:module");
  enableCompileCache();
  const { main } = await import("../src/main.ts");
  process.exitCode = await main(process.argv.slice(2));
}
