/** Opens a page in the user's browser. */

import { spawn } from "node:child_process";

/** @returns false where there is no browser to open: a server without a screen */
export function canOpenBrowser({ DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): boolean {
  if (process.platform === "darwin" || process.platform === "win32") return true;
  return Boolean(DISPLAY || WAYLAND_DISPLAY);
}

/** Other users of the machine can see the URL in the list of processes while it opens. */
export function openBrowser(url: string): void {
  const [program, ...args] = launcher();
  const child = spawn(program, [...args, url], { detached: true, stdio: "ignore" });
  // Without the program, the user opens the printed link.
  child.on("error", () => {});
  child.unref();
}

function launcher(): readonly [program: string, ...args: string[]] {
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}
