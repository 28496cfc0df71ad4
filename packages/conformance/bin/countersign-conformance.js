#!/usr/bin/env node
// Plain JavaScript that every Node can parse: it checks whether this Node can run the rest.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `countersign-conformance needs Node 24 or newer; this is Node ${process.versions.node} (${process.execPath}). ` +
      "Update Node, or run npm install node@24 in this folder and start the command with npx.",
  );
  process.exitCode = 2;
} else {
  const { main } = await import("#main");
  process.exitCode = await main(process.argv.slice(2));
}
