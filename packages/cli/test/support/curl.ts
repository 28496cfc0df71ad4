/**
 * Stands in for `curl` where there is none: as much of it as the lines use that we print.
 *
 *   node curl.ts -s URL [-H "Name: value"]... [-d BODY]
 */

import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  options: {
    silent: { type: "boolean", short: "s" },
    header: { type: "string", short: "H", multiple: true },
    data: { type: "string", short: "d" },
  },
  allowPositionals: true,
});
const [url = ""] = positionals;
const headers = (values.header ?? []).map((line): [string, string] => {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
});
const body = values.data;
const response = await fetch(url, {
  headers,
  ...(body === undefined ? {} : { method: "POST", body }),
});
process.stdout.write(await response.text());
