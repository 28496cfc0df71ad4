import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stringify } from "yaml";
import { ALL_OPTIONS, environmentName, type Option, type OptionType } from "./options.ts";
import { ConfigError, type Flags, readConfig } from "./read-config.ts";

type Environment = Readonly<Record<string, string>>;

/** Three values of each type, as they are written and as they are read. */
const SAMPLES: Readonly<Record<OptionType, readonly (readonly [string, unknown])[]>> = {
  text: [
    ["one", "one"],
    ["two", "two"],
    ["three", "three"],
  ],
  integer: [
    ["1", 1],
    ["2", 2],
    ["3", 3],
  ],
  duration: [
    ["5s", 5_000],
    ["5m", 300_000],
    ["5h", 18_000_000],
  ],
  flag: [
    ["true", true],
    ["false", false],
    ["true", true],
  ],
};

/** The file cannot contain the option that names the file. */
const SETTINGS = ALL_OPTIONS.filter(({ name }) => name !== "config");

function configFile(t: TestContext, content: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-test-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "countersign.yaml");
  writeFileSync(file, typeof content === "string" ? content : stringify(content), {
    mode: 0o600,
  });
  return file;
}

function settingOf({ name }: Option, flags: Flags, environment: Environment): unknown {
  return Object.entries(readConfig(flags, environment)).find(([key]) => key === name)?.[1];
}

function faultsOf(flags: Flags, environment: Environment = {}): string[] {
  try {
    readConfig(flags, environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message.split("\n");
  }
  assert.fail("the configuration was accepted");
}

for (const option of SETTINGS) {
  test(`[ours.config.sources] ${option.name}: the flag overrides the environment, and the environment overrides the file`, (t) => {
    const [flag, variable, entry] = SAMPLES[option.type];
    assert.ok(flag && variable && entry);
    const config = configFile(t, { [option.name]: entry[0] });
    const environment = { [environmentName(option.name)]: variable[0] };

    assert.equal(settingOf(option, { config }, {}), entry[1]);
    assert.equal(settingOf(option, { config }, environment), variable[1]);
    assert.equal(settingOf(option, { config, [option.name]: flag[0] }, environment), flag[1]);
  });
}

test("[ours.config.sources] without a flag, a variable or a file the defaults of the table hold", () => {
  const { port, host, data, window_max, tls_terminated_by_proxy, token } = readConfig({}, {});
  assert.deepEqual(
    { port, host, data, window_max, tls_terminated_by_proxy, token },
    {
      port: 8787,
      host: "127.0.0.1",
      data: "./data",
      window_max: 604_800_000,
      tls_terminated_by_proxy: false,
      token: undefined,
    },
  );
});

test("[ours.config.sources] the file may be named by flag or by environment, the flag being stronger", (t) => {
  const one = configFile(t, { port: 1 });
  const two = configFile(t, { port: 2 });
  assert.equal(readConfig({ config: one }, {}).port, 1);
  assert.equal(readConfig({}, { COUNTERSIGN_CONFIG: two }).port, 2);
  assert.equal(readConfig({ config: one }, { COUNTERSIGN_CONFIG: two }).port, 1);
});

test("[ours.config.sources] a file takes YAML's own numbers and booleans, and may be empty", (t) => {
  const config = configFile(
    t,
    "# mine\nport: 80\ntls_terminated_by_proxy: true\nwindow_max: 24h\n",
  );
  const { port, tls_terminated_by_proxy, window_max } = readConfig({ config }, {});
  assert.deepEqual([port, tls_terminated_by_proxy, window_max], [80, true, 86_400_000]);
  assert.equal(readConfig({ config: configFile(t, "# nothing yet\n") }, {}).port, 8787);
});

test("[ours.config.faults] every fault of every source is named at once, each with its place", (t) => {
  const config = configFile(t, { window_max: "1d", prot: 80, retention: ["168h"] });
  const faults = faultsOf(
    { config, port: "eighty" },
    { COUNTERSIGN_TLS_TERMINATED_BY_PROXY: "yes", COUNTERSIGN_CONNECTIONS_MAX: "-1" },
  );
  assert.deepEqual(faults.toSorted(), [
    '--port: "eighty" is not a whole number',
    'COUNTERSIGN_CONNECTIONS_MAX: "-1" is not a whole number',
    'COUNTERSIGN_TLS_TERMINATED_BY_PROXY: "yes" is not true or false',
    `config file ${config}: retention must be a single value`,
    `config file ${config}: unknown setting "prot"`,
    'window_max in the config file: "1d" is not a duration like 90s, 5m or 24h',
  ]);
});

for (const { name, type } of SETTINGS.filter((option) => option.type !== "text")) {
  test(`[ours.config.faults] a value of ${name} that is not a valid ${type} is reported`, () => {
    for (const wrong of ["", " 1", "1.5", "0x10", "1e3", "yes", "9".repeat(400)]) {
      const faults = faultsOf({}, { [environmentName(name)]: wrong });
      assert.equal(faults.length, 1);
      assert.ok(faults[0]?.startsWith(`${environmentName(name)}: ${JSON.stringify(wrong)} is not`));
    }
  });
}

test("[ours.config.faults] a file that is missing, no YAML or no list of settings is named", (t) => {
  assert.match(
    faultsOf({ config: "./nowhere.yaml" })[0] ?? "",
    /^config file .*nowhere.yaml: ENOENT/,
  );
  const broken = configFile(t, "port: [80\n");
  assert.equal(faultsOf({ config: broken }).length, 1);
  assert.ok(faultsOf({ config: broken })[0]?.startsWith(`config file ${broken}: `));
  const list = configFile(t, ["port"]);
  assert.deepEqual(faultsOf({ config: list }), [
    `config file ${list}: must contain settings by name`,
  ]);
});

test("[ours.config.faults] a null in the file is a fault and not the word null", (t) => {
  const config = configFile(t, "host:\n");
  assert.deepEqual(faultsOf({ config }), [`config file ${config}: host must be a single value`]);
});

test("[ours.config.faults] a message about a file that is not valid YAML contains none of its secrets", (t) => {
  const config = configFile(t, 'secret_key: "SECRETSECRET\nport: 80\n');
  const faults = faultsOf({ config }).join("\n");
  assert.match(faults, /line/);
  assert.doesNotMatch(faults, /SECRET/);
});

test("[ours.config.faults] a URL with a password of a database or mail server is accepted everywhere except on the command line", () => {
  const bare = "postgres://me@db.internal/countersign?sslmode=verify-full";
  for (const name of ["database_url", "database_direct_url", "smtp_url"] as const) {
    assert.equal(readConfig({ [name]: bare }, {})[name], bare);
    const variable = `COUNTERSIGN_${name.toUpperCase()}`;
    const advice = new RegExp(`^--${name.replaceAll("_", "-")}: .*set ${variable}`);
    for (const url of [
      "postgres://me:s3cret@db.internal/countersign",
      "postgres://db.internal/countersign?user=me&password=s3cret",
    ]) {
      assert.equal(readConfig({}, { [variable]: url })[name], url);
      assert.throws(
        () => readConfig({ [name]: url }, {}),
        (error) =>
          error instanceof ConfigError &&
          advice.test(error.message) &&
          !error.message.includes("s3cret"),
      );
    }
  }
});

test("[ours.config.unknown] the server rejects an unknown COUNTERSIGN_ variable with the nearest setting", () => {
  const environment = {
    COUNTERSIGN_RETENTOIN: "500h",
    COUNTERSIGN_DATABASE_ULR: "postgres://secret@host/name",
    COUNTERSIGN_SOMETHING_ELSE: "1",
    COUNTERSIGN_PORT: "x",
  };
  assert.deepEqual(faultsOf({}, environment), [
    "COUNTERSIGN_DATABASE_ULR: unknown setting; did you mean COUNTERSIGN_DATABASE_URL?",
    "COUNTERSIGN_RETENTOIN: unknown setting; did you mean COUNTERSIGN_RETENTION?",
    "COUNTERSIGN_SOMETHING_ELSE: unknown setting; remove it",
    'COUNTERSIGN_PORT: "x" is not a whole number',
  ]);
});

test("[ours.config.unknown] variables of other programs and the service links of Kubernetes are not settings", () => {
  const environment = {
    COUNTERSIGN_ADAPTER_URL: "http://localhost",
    COUNTERSIGN_INSTANCE_TOKEN: "token",
    COUNTERSIGN_API_KEY: "key",
    COUNTERSIGN_HOOK_WAIT: "1h",
    COUNTERSIGN_TEST_ENGINE: "sqlite",
    COUNTERSIGN_SERVICE_HOST: "10.0.0.1",
    COUNTERSIGN_SERVICE_PORT: "8787",
    COUNTERSIGN_SERVICE_PORT_HTTP: "8787",
    COUNTERSIGN_PORT: "tcp://10.0.0.1:8787",
    COUNTERSIGN_PORT_8787_TCP: "tcp://10.0.0.1:8787",
    COUNTERSIGN_PORT_8787_TCP_ADDR: "10.0.0.1",
    COUNTERSIGN_DB_PORT: "tcp://10.0.0.2:5432",
    COUNTERSIGN_DB_PORT_5432_TCP_PROTO: "tcp",
    OTHER_RETENTOIN: "500h",
  };
  assert.equal(readConfig({}, environment).port, 8787);
});

test("[ours.config.unknown] the server rejects a config file that every user can change", (t) => {
  const config = configFile(t, { port: 1 });
  chmodSync(config, 0o666);
  assert.deepEqual(faultsOf({ config }), [
    `config file ${config}: every user of this machine can write to it; run chmod o-w ${config}`,
  ]);
  chmodSync(config, 0o664);
  assert.equal(readConfig({ config }, {}).port, 1);
});

test("[ours.config.secrets] the server rejects its own config file when it has a secret that every user can read", (t) => {
  for (const [content, isSecret] of [
    [{ secret_key: "key" }, true],
    [{ database_url: "postgres://ana:password@db/name" }, true],
    [{ database_url: "postgres://ana@db/name" }, false],
    [{ port: 1 }, false],
  ] as const) {
    const config = configFile(t, content);
    readConfig({ config }, {});
    chmodSync(config, 0o644);
    if (!isSecret) readConfig({ config }, {});
    else {
      const fault = "it contains a secret, and every user of this machine can read it";
      assert.deepEqual(faultsOf({ config }), [
        `config file ${config}: ${fault}; run chmod o-r ${config}`,
      ]);
    }
  }
});

test("[ours.config.secrets] a variable with _FILE names a file with the secret, without the last line break", (t) => {
  const SECRETS = ["database_url", "oidc_client_secret", "secret_key", "smtp_url", "token"];
  for (const name of SECRETS) {
    const file = configFile(t, " the secret \n\n");
    const environment = { [`COUNTERSIGN_${name.toUpperCase()}_FILE`]: file };
    const values = Object.entries(readConfig({}, environment));
    assert.equal(new Map(values).get(name as never), " the secret \n", name);
  }
});

test("[ours.config.secrets] a missing secret file, or a secret that is set twice, is rejected without the secret", (t) => {
  const missing = join(tmpdir(), "countersign-no-such-file");
  const [fault = "", ...others] = faultsOf({}, { COUNTERSIGN_SECRET_KEY_FILE: missing });
  assert.match(fault, /^COUNTERSIGN_SECRET_KEY_FILE: ENOENT/);
  assert.deepEqual(others, []);
  const file = configFile(t, "hidden");
  const both = { COUNTERSIGN_TOKEN: "hidden", COUNTERSIGN_TOKEN_FILE: file };
  assert.deepEqual(faultsOf({}, both), [
    "COUNTERSIGN_TOKEN_FILE: COUNTERSIGN_TOKEN is set too; set only one of them",
  ]);
  assert.deepEqual(faultsOf({}, { COUNTERSIGN_PORT_FILE: file }), [
    "COUNTERSIGN_PORT_FILE: unknown setting; remove it",
  ]);
});
