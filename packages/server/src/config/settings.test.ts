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
    ["postgres://db.internal/countersign", /^database_direct_url: .* database_url; set both/],
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

const PROVIDER = {
  oidc_issuer: "https://login.example.com",
  oidc_client_id: "countersign",
  oidc_role_default: "viewer",
};

const OIDC_FAULTS: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  [{ oidc_issuer: "login.example.com" }, /^oidc_issuer: must be like https/],
  [{ oidc_issuer: "https://me@login.example.com" }, /^oidc_issuer: must be like/],
  [{ oidc_issuer: "https://login.example.com/?tenant=a" }, /^oidc_issuer: must be like/],
  [{ oidc_issuer: "http://login.example.com" }, /^oidc_issuer: must start with https/],
  [{ oidc_issuer: "http://127.0.0.1.example.com" }, /^oidc_issuer: must start with https/],
  [{ oidc_issuer: `${PROVIDER.oidc_issuer}/.well-known/openid-configuration` }, /must end before/],
  [{ oidc_issuer: "https://login.microsoftonline.com/common/v2.0" }, /users of every tenant/],
  [{ oidc_client_id: "" }, /^oidc_client_id: must not be empty/],
  [{ oidc_client_secret: "" }, /^oidc_client_secret: must not be empty/],
  [{ oidc_scopes: "profile email" }, /^oidc_scopes: must include openid/],
  [{ oidc_groups_claim: "" }, /^oidc_groups_claim: must be the name of a claim/],
  [{ oidc_roles: "approvers" }, /^oidc_roles: approvers must be like/],
  [{ oidc_roles: "approvers=boss" }, /^oidc_roles: approvers=boss must be like .*reviewer/],
  [{ oidc_roles: "=reviewer" }, /^oidc_roles: =reviewer must be like/],
  [{ oidc_roles: "a=reviewer,b=:admin" }, /^oidc_roles: b=:admin must be like/],
  [{ oidc_role_default: "boss" }, /^oidc_role_default: must be one of viewer/],
  [{ oidc_groups: "dba" }, /^oidc_groups: dba must be like/],
  [{ oidc_groups: "*,Team=Data Base" }, /^oidc_groups: Team=Data Base must be like/],
  [{ oidc_project: "" }, /^oidc_project: must be the name of a project/],
  [{ oidc_break_glass: "ana" }, /^oidc_break_glass: requires oidc_only/],
];

test("[ours.oidc.settings] unusable provider settings are reported by name", () => {
  assert.deepEqual(faultsOf(PROVIDER), []);
  assert.deepEqual(faultsOf({ ...PROVIDER, oidc_issuer: "http://localhost:8080/realms/a" }), []);
  for (const [flags, fault] of OIDC_FAULTS) {
    const faults = faultsOf({ ...PROVIDER, ...flags });
    assert.equal(faults.length, 1, `${JSON.stringify(flags)}: ${faults.join(", ")}`);
    assert.match(faults[0] ?? "", fault);
  }
  const { oidc_issuer: issuer, ...withoutIssuer } = PROVIDER;
  assert.match(faultsOf(withoutIssuer).join(), /^oidc_issuer and oidc_client_id: set both/);
  assert.match(faultsOf({ oidc_only: "true" }).join(), /^oidc_only: requires oidc_issuer/);
  const roleless = { oidc_issuer: issuer, oidc_client_id: "countersign" };
  assert.match(faultsOf(roleless).join(), /^oidc_roles and oidc_role_default: set one/);
});

test("[ours.scim.identity] a claim that users can change does not match users with SCIM", () => {
  for (const claim of ["email", "preferred_username", "upn", "name"]) {
    const [fault = ""] = faultsOf({ ...PROVIDER, oidc_external_id_claim: claim });
    assert.match(fault, /^oidc_external_id_claim: must not be \w+, which users can change$/);
  }
  assert.deepEqual(faultsOf({ ...PROVIDER, oidc_external_id_claim: "oid" }), []);
});

test("[ours.oidc.settings] in production, a provider must use HTTPS, also on loopback", () => {
  const flags = { ...PROVIDER, oidc_issuer: "http://localhost:8080" };
  const values = readConfig(flags, { NODE_ENV: "production" });
  assert.throws(() => toSettings(values), /oidc_issuer: must start with https/);
});

test("[ours.oidc.settings] mappings are read as they are written", () => {
  const flags = {
    ...PROVIDER,
    oidc_roles: "platform=admin, cn=a/b=payments:reviewer ,x:y=a:b:viewer",
    oidc_groups: "Data Base Team=dba,*",
    oidc_project: "main",
  };
  const mapping = toSettings(readConfig(flags, {})).mapping;
  assert.deepEqual(mapping?.roles, [
    { value: "platform", project: "main", role: "admin" },
    { value: "cn=a/b", project: "payments", role: "reviewer" },
    { value: "x:y", project: "a:b", role: "viewer" },
  ]);
  assert.deepEqual(mapping?.groups, [{ value: "Data Base Team", group: "dba" }]);
  assert.equal(mapping?.keepsGroups, true);
});

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
