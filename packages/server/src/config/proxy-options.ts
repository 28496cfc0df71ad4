/**
 * Settings for a server behind reverse proxies; part of the table in options.ts.
 */

import type { Option } from "./option.ts";

export const PROXY_OPTIONS = [
  {
    name: "tls_terminated_by_proxy",
    type: "flag",
    default: "false",
    group: "server",
    help: "A proxy in front speaks HTTPS: allows plain HTTP on other than loopback addresses.",
  },
  {
    name: "trusted_proxies",
    type: "text",
    default: "",
    value: "CIDR,CIDR",
    group: "server",
    help: "Proxies whose X-Forwarded-For names the client, for limits and logs.",
  },
] as const satisfies readonly Option[];
