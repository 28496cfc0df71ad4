/**
 * The plugin of an agent without hook commands: it starts the command for each call, and blocks the
 * call after every result other than an approval.
 */

const REQUEST_APPROVAL = `
/** Runs the hook. Every failure is a denial. */
function requestApproval(call) {
  return new Promise((resolve) => {
    const reason = "Countersign: the hook failed. The call did not run.";
    const failed = { isApproved: false, reason };
    // On Windows, no word of the command contains a space.
    const [file, ...words] =
      process.platform === "win32" ? COMMAND.split(" ") : ["/bin/sh", "-c", COMMAND];
    const hook = spawn(file, words, { stdio: ["pipe", "pipe", "ignore"] });
    let printed = "";
    hook.stdout.setEncoding("utf8").on("data", (text) => {
      printed += text;
    });
    hook.on("error", () => resolve(failed));
    hook.on("close", (code) => {
      try {
        const answer = JSON.parse(printed);
        const isApproved = code === 0 && answer.decision === "allow";
        resolve({ isApproved, reason: answer.reason ?? reason });
      } catch {
        resolve(failed);
      }
    });
    hook.stdin.on("error", () => {});
    hook.stdin.end(JSON.stringify(call));
  });
}
`;

/** A JSON string with the command of a hook. */
const COMMAND = /"(?:[^"\\]|\\.)*[ .]countersign-hook[ .](?:[^"\\]|\\.)*"/;

/** The command in the text of a plugin. */
export function pluginCommand(text: string): string | undefined {
  const [written] = COMMAND.exec(text) ?? [];
  return written === undefined ? undefined : (JSON.parse(written) as string);
}

/** @param handler JavaScript that calls requestApproval */
export function pluginText(command: string, handler: string): string {
  return [
    "// Written by Countersign. Remove it with: countersign uninstall",
    'import { spawn } from "node:child_process";',
    "",
    `const COMMAND = ${JSON.stringify(command)};`,
    REQUEST_APPROVAL,
    handler,
  ].join("\n");
}
