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
    help: "A reverse proxy terminates TLS. Allows plain HTTP on any address.",
  },
  {
    name: "trusted_proxies",
    type: "text",
    default: "",
    value: "CIDR,CIDR",
    group: "server",
    help: "Networks of proxies that set X-Forwarded-For, for rate limits and logs.",
  },
] as const satisfies readonly Option[];
