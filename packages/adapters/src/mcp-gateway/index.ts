/** An MCP server in front of others, which asks an approval provider before it calls a tool. */

export { type CheckedServer, checkServers, writePins } from "./check.ts";
export type { GatewayConfig } from "./config.ts";
export {
  configOfCommand,
  defaultStateFolder,
  GatewayConfigError,
  loadConfig,
  readTokenFile,
} from "./config-file.ts";
export { type Gateway, type GatewayParts, serveHttp, serveStdio } from "./gateway.ts";
export { reportToStderr } from "./report.ts";
