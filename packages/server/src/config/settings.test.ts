import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, readConfig } from "./read-config.ts";
import { toSettings } from "./settings.ts";

function faultsOf(flags: Readonly<Record<string, string>>): string[] {
  try {
    toSettings(readConfig(flags, {}));
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message.split("\n");
  }
  return [];
}

test("[ours.config.faults] the defaults have no fault", () => {
  assert.deepEqual(faultsOf({}), []);
});

const FAULTS: Readonly<Record<string, readonly (readonly [string, RegExp])[]>> = {
  port: [["65536", /^port: /]],
  database_url: [
    ["mysql://db.internal/countersign", /^database_url: /],
    ["db.internal/countersign", /^database_url: /],
    ["postgres://db.internal:port/x", /^database_url: /],
  ],
  database_direct_url: [
    ["mysql://db.internal/countersign", /^database_direct_url: must be like/],
    ["postgres://db.internal/countersign", /^database_direct_url: .* database_url; give both/],
  ],
  database_connections_max: [["1", /^database_connections_max: must be at least 2/]],
  path_prefix: [
    ["api", /^path_prefix: /],
    ["/", /^path_prefix: /],
    ["/api/", /^path_prefix: /],
    ["/a//b", /^path_prefix: /],
    ["/:id", /^path_prefix: /],
    ["/*", /^path_prefix: /],
  ],
  public_url: [
    ["example.com", /^public_url: /],
    ["ftp://example.com", /^public_url: /],
  ],
  log_level: [["verbose", /^log_level: .*debug, info, warn, error, silent/]],
  retention: [["167h", /^retention: .*168h/]],
  validity_default: [["25h", /^validity_default: .*validity_max/]],
  window_max: [["87601h", /^window_max: .*87600h/]],
  validity_max: [["87601h", /^validity_max: .*87600h/]],
  tls_cert: [["cert.pem", /^tls_cert and tls_key: /]],
  tls_key: [["key.pem", /^tls_cert and tls_key: /]],
  webhook_proxy: [
    ["proxy.internal:4750", /^webhook_proxy: /],
    ["ftp://proxy.internal", /^webhook_proxy: /],
    ["http://me@proxy.internal", /^webhook_proxy: /],
    ["http://proxy.internal:65536", /^webhook_proxy: /],
    ["http://proxy.internal/path", /^webhook_proxy: /],
    ["http://proxy.internal?query", /^webhook_proxy: /],
    ["http://", /^webhook_proxy: /],
  ],
};

for (const [name, cases] of Object.entries(FAULTS)) {
  test(`[ours.config.faults] ${name} that cannot be served is named`, () => {
    for (const [value, fault] of cases) {
      const faults = faultsOf({ [name]: value });
      assert.equal(faults.length, 1, `${name} = ${value}: ${faults.join(", ")}`);
      assert.match(faults[0] ?? "", fault);
    }
  });
}

test("[ours.config.faults] settings that contradict each other are all named at once", () => {
  const faults = faultsOf({
    port: "70000",
    tls_cert: "cert.pem",
    path_prefix: "/api/",
    log_level: "loud",
    retention: "1h",
    validity_max: "1m",
  });
  assert.equal(faults.length, 6, faults.join("\n"));
});

test("[ours.config.faults] values at the very bounds have no fault", () => {
  const bounds = {
    port: "65535",
    retention: "168h",
    window_max: "87600h",
    validity_default: "24h",
    path_prefix: "/a/b-c",
  };
  assert.deepEqual(faultsOf(bounds), []);
});
