#!/usr/bin/env node
// Plain JavaScript that every Node can parse: it checks whether this Node can run the rest.
const major = Number(process.versions.node.split(".")[0]);
const [command, ...rest] = process.argv.slice(2);
const isHook = command === "hook" && !rest.some((word) => word === "--help" || word === "-h");
if (major < 24) {
  console.error(
    `countersign needs Node 24 or newer; this is Node ${process.versions.node} (${process.execPath}). ` +
      "Update Node, or run npm install node@24 in this folder and start the command with npx.",
  );
  process.exitCode = 2;
} else if (isHook) {
  await hook();
} else {
  const { enableCache } = await import("@countersign/command-line/compilation");
  enableCache();
  const { main } = await import("#main");
  process.exitCode = await main(process.argv.slice(2));
}

// The hook runs before every tool call, so nothing else is loaded. Agents run the tool after every
// exit code except 2: a load error must not exit with Node's 1.
async function hook() {
  process.exitCode = 2;
  try {
    const { startHook } = await import("@countersign/agent-hooks/hook");
    await startHook(rest, process.env, "countersign");
  } catch (error) {
    // Without the message, which contains paths: the model of an agent may read it.
    const { code = "unknown error" } = Object(error);
    console.error(`Countersign: the hook cannot be loaded (${code}). The call did not run.`);
    process.exitCode = 2;
  }
}
