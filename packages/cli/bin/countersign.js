#!/usr/bin/env node
// Plain JavaScript that any Node can parse: it decides whether this Node can run the rest.
const major = Number(process.versions.node.split(".")[0]);
const [command, ...rest] = process.argv.slice(2);
const isHook = command === "hook" && !rest.some((word) => word === "--help" || word === "-h");
if (major < 24) {
  console.error(
    `countersign needs Node 24 or newer; this is Node ${process.versions.node} (${process.execPath}).`,
  );
  process.exitCode = 2;
} else {
  await keepCompiled();
  if (isHook) await hook();
  else {
    const { main } = await import("#main");
    process.exitCode = await main(process.argv.slice(2));
  }
}

// Compiled code is run in place of its source. Node's own place for it is below the folder for
// temporary files, where another user of the machine may have put some first.
async function keepCompiled() {
  const { enableCompileCache } = await import("node:module");
  const { homedir } = await import("node:os");
  const { isAbsolute, join } = await import("node:path");
  const { XDG_CACHE_HOME: given = "" } = process.env;
  try {
    const base = isAbsolute(given) ? given : join(homedir(), ".cache");
    enableCompileCache(join(base, "countersign", "compiled"));
  } catch {
    // A user without a home has none: it compiles each time.
  }
}

// It runs before every tool call, so nothing else is loaded. Agents run the tool after any exit
// code but 2: what cannot be loaded must not end with Node's own 1.
async function hook() {
  process.exitCode = 2;
  try {
    const { runHook } = await import("@countersign/adapters/hook");
    await runHook(rest, process.env);
  } catch (error) {
    // Without the message, which names paths: the model of an agent may read it.
    const { code = "unknown error" } = Object(error);
    console.error(`Countersign: the hook cannot be loaded (${code}). The call did not run.`);
    process.exitCode = 2;
  }
}
