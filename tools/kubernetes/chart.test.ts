// Tier: slow
// Needs: go-tools
/**
 * The Helm chart with the values of docs/guides/kubernetes.md, in Helm and kubeconform.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { parseDuration } from "@countersign/protocol";
import { readConfig, toSettings } from "@countersign/server";
import { parse, stringify } from "yaml";
import { fileVariable } from "../../packages/server/src/config/options.ts";
import { KUBERNETES_VERSIONS } from "../go-tools/tools.ts";
import { allOfKind, type KubernetesObject, ofKind, type Pod, parseObjects } from "./objects.ts";
import { guideBlock, helm, kubeconform, render, template } from "./render.ts";
import { CHART, PLAIN_SETTINGS, SECRET_SETTINGS } from "./values-reference.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const BASE = guideBlock("values.yaml");
const INGRESS = guideBlock("ingress.yaml");
const GATEWAY = guideBlock("gateway.yaml");
const NETWORK = guideBlock("network.yaml");
const MONITORING = guideBlock("monitoring.yaml");
const SQLITE = guideBlock("sqlite.yaml");

/** Every optional value that a path of the templates depends on. */
const EVERYTHING = stringify({
  image: { digest: `sha256:${"0".repeat(64)}`, pullSecrets: ["registry"] },
  settings: { shutdown_grace: "1m", body_bytes_max: 1_048_576, webhooks_off: true },
  secret: { settings: SECRET_SETTINGS.map(({ name }) => name) },
  extraEnv: [
    { name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: "http://collector:4318" },
    { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
  ],
  extraVolumes: [{ name: "ca", configMap: { name: "company-ca" } }],
  extraVolumeMounts: [{ name: "ca", mountPath: "/etc/company-ca", readOnly: true }],
  workloadIdentity: { "workloads.yaml": "issuers: []\nrules: []\n", "jwks.json": "{}" },
  networkPolicy: { publicInternet: false, extraEgress: [{ ports: [{ port: 8443 }] }] },
  podAnnotations: { "example.com/team": "security" },
  nodeSelector: { "kubernetes.io/arch": "amd64" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  priorityClassName: "system-cluster-critical",
});

const CASES: Readonly<Record<string, readonly string[]>> = {
  "the values of step 2": [BASE],
  "an Ingress": [BASE, INGRESS],
  "a Gateway, a NetworkPolicy and monitoring": [BASE, GATEWAY, NETWORK, MONITORING],
  "every optional value": [BASE, INGRESS, GATEWAY, NETWORK, MONITORING, EVERYTHING],
  SQLite: [SQLITE, INGRESS],
};

for (const [name, values] of Object.entries(CASES)) {
  test(`[ours.deploy.chart] helm lint --strict accepts ${name}`, () => {
    const { status, stdout, stderr } = helm(["lint", "--strict", CHART], values);
    assert.equal(status, 0, stdout + stderr);
  });

  for (const version of KUBERNETES_VERSIONS) {
    test(`[ours.deploy.chart] objects for ${name} conform to Kubernetes ${version}`, () => {
      const { status, stdout, stderr } = template(values, version);
      assert.equal(status, 0, stderr);
      const checked = kubeconform(stdout, version);
      assert.equal(checked.status, 0, checked.stdout + checked.stderr);
      const { length } = parseObjects(stdout);
      assert.match(checked.stdout, new RegExp(`Valid: ${length}, Invalid: 0, Errors: 0`));
    });
  }
}

test("[ours.deploy.chart] kubeconform rejects an unknown field and a wrong type", () => {
  const { stdout } = template([BASE, GATEWAY, MONITORING]);
  const faults: readonly (readonly [string, string])[] = [
    ["minReadySeconds:", "minReadySecond:"],
    ["periodSeconds: 10", "periodSeconds: ten"],
    ["jobLabel:", "jobLabels:"],
    ["hostnames:", "hostNames:"],
  ];
  for (const [from, to] of faults) {
    assert.ok(stdout.includes(from), from);
    const { status } = kubeconform(stdout.replace(from, to), String(KUBERNETES_VERSIONS.at(-1)));
    assert.equal(status, 1, to);
  }
});

test("[ours.deploy.chart] the guide's PrometheusRule conforms to the Prometheus operator", () => {
  const script = guideBlock("prometheus-rule").replace(/\} \| kubectl .*/, "}");
  const rule = execFileSync("sh", ["-ec", script], { cwd: ROOT, encoding: "utf8" });
  const { status, stdout } = kubeconform(rule, String(KUBERNETES_VERSIONS.at(-1)));
  assert.equal(status, 0, stdout);
  const { groups } = ofKind(parseObjects(rule), "PrometheusRule").spec;
  assert.ok((groups[0]?.rules.length ?? 0) > 10);
});

/** Values that the chart rejects, with a part of the message. */
const REJECTED: readonly (readonly [string, object, RegExp])[] = [
  ["no public_url", { settings: { public_url: null } }, /public_url/],
  ["a public_url without HTTPS", { settings: { public_url: "http://a.example" } }, /public_url/],
  ["an unknown value", { replicaCount: 3 }, /'replicaCount' not allowed/],
  ["an unknown setting", { settings: { retentoin: "1h" } }, /'retentoin' not allowed/],
  ["a setting of the wrong type", { settings: { retention: 500 } }, /retention/],
  ["a secret setting in clear text", { settings: { secret_key: "a" } }, /'secret_key' not allowed/],
  ["an unknown secret", { secret: { settings: ["secret_keys"] } }, /secret\/settings\/0/],
  ["a volume of the chart", { extraVolumes: [{ name: "tmp", emptyDir: {} }] }, /extraVolumes/],
  [
    "a mount over the data",
    { extraVolumeMounts: [{ name: "x", mountPath: "/data/x" }] },
    /extraVolumeMounts/,
  ],
  ["a setting in extraEnv", { extraEnv: [{ name: "COUNTERSIGN_DATA", value: "/" }] }, /extraEnv/],
  ["no replica", { replicas: 0 }, /replicas/],
  ["keys without rules", { workloadIdentity: { "jwks.json": "{}" } }, /workloadIdentity|workloads/],
  [
    "two replicas without PostgreSQL",
    { secret: { settings: ["secret_key"] } },
    /replicas: 2 needs PostgreSQL\. Add database_url to secret\.settings, or set replicas to 1\./,
  ],
  [
    "autoscaling without PostgreSQL",
    { replicas: 1, secret: { settings: [] }, autoscaling: { enabled: true } },
    /autoscaling\.enabled needs PostgreSQL/,
  ],
  [
    "PostgreSQL without a secret key",
    { secret: { settings: ["database_url"] } },
    /Add secret_key to secret\.settings/,
  ],
  ["secret settings without a Secret", { secret: { name: "" } }, /secret\.name is empty/],
  [
    "a maximum below the minimum",
    { replicas: 9, autoscaling: { enabled: true } },
    /maxReplicas: 8 is less than replicas: 9/,
  ],
  ["a route without a Gateway", { httpRoute: { enabled: true } }, /parentRefs is empty/],
  [
    "a policy without clients",
    { networkPolicy: { enabled: true } },
    /networkPolicy\.from is empty/,
  ],
  [
    "a policy without a database",
    { networkPolicy: { enabled: true, from: [{ podSelector: {} }] } },
    /networkPolicy\.database\.to is empty/,
  ],
];

for (const [name, values, message] of REJECTED) {
  test(`[ours.deploy.chart] the chart rejects ${name}`, () => {
    const { status, stderr } = template([BASE, stringify(values)]);
    assert.notEqual(status, 0);
    assert.match(stderr, message);
  });
}

function podOf(objects: readonly KubernetesObject[]): Pod {
  return ofKind(objects, "Deployment").spec.template.spec;
}

function environmentOf(objects: readonly KubernetesObject[]): Record<string, string> {
  const [{ env }] = podOf(objects).containers;
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

test("[ours.deploy.chart] the server accepts every setting of the schema as the chart writes it", () => {
  const samples: Readonly<Record<string, unknown>> = {
    integer: 1_048_576,
    flag: true,
    duration: "90s",
  };
  const settings = PLAIN_SETTINGS.map(({ name, type }) => [
    name,
    samples[type] ?? "https://a.example",
  ]);
  const values = stringify({ settings: Object.fromEntries(settings) });
  const environment = environmentOf(render([BASE, values]));
  for (const [name, value] of settings) {
    assert.equal(environment[`COUNTERSIGN_${String(name).toUpperCase()}`], String(value));
  }
});

test("[ours.deploy.chart] secrets are files of one Secret, and never variables", () => {
  const objects = render([BASE, EVERYTHING]);
  const environment = environmentOf(objects);
  const { containers, volumes } = podOf(objects);
  const mount = containers[0].volumeMounts.find(({ name }) => name === "secret");
  for (const { name } of SECRET_SETTINGS) {
    assert.equal(environment[fileVariable(name)], `${mount?.mountPath}/${name}`);
    assert.equal(environment[`COUNTERSIGN_${name.toUpperCase()}`], undefined);
  }
  const volume = volumes.find(({ name }) => name === "secret");
  assert.equal(volume?.secret?.secretName, "countersign");
});

test("[ours.deploy.chart] the settings of the guide are valid, and the pod has the restricted profile", () => {
  for (const values of [[BASE], [SQLITE]]) {
    const objects = render(values);
    const {
      COUNTERSIGN_DATABASE_URL_FILE: _,
      COUNTERSIGN_SECRET_KEY_FILE: __,
      ...environment
    } = environmentOf(objects);
    const image = { COUNTERSIGN_HOST: "0.0.0.0" };
    const settings = toSettings(readConfig({}, { ...image, ...environment }));
    assert.equal(settings.trustedProxies.length, 1);
    const { securityContext, containers, automountServiceAccountToken } = podOf(objects);
    assert.equal(securityContext.runAsNonRoot, true);
    assert.equal(securityContext.seccompProfile.type, "RuntimeDefault");
    assert.equal(automountServiceAccountToken, false);
    assert.deepEqual(containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  }
});

test("[ours.deploy.chart] Kubernetes waits for a stop longer than open exchanges may take", () => {
  for (const [grace, values] of [
    ["10s", [BASE]],
    ["1m", [BASE, EVERYTHING]],
  ] as const) {
    const pod = podOf(render(values));
    const delayS = pod.containers[0].lifecycle.preStop.sleep.seconds;
    const graceS = (parseDuration(grace) ?? Number.NaN) / 1000;
    assert.equal(pod.terminationGracePeriodSeconds, delayS + graceS + 15);
  }
});

test("[ours.deploy.chart] SQLite has one pod and a volume that an uninstall keeps", () => {
  const objects = render([SQLITE]);
  const { spec } = ofKind(objects, "Deployment");
  assert.equal(spec.replicas, 1);
  assert.deepEqual(spec.strategy, { type: "Recreate" });
  const claim = ofKind(objects, "PersistentVolumeClaim");
  assert.equal(claim.metadata.annotations?.["helm.sh/resource-policy"], "keep");
  const data = environmentOf(objects).COUNTERSIGN_DATA ?? "";
  const mounts = podOf(objects).containers[0].volumeMounts;
  assert.ok(mounts.some(({ mountPath }) => data.startsWith(`${mountPath}/`)));
  const postgres = render([BASE]);
  assert.ok(postgres.every(({ kind }) => kind !== "PersistentVolumeClaim"));
  assert.deepEqual(ofKind(postgres, "Deployment").spec.strategy.type, "RollingUpdate");
});

test("[ours.deploy.chart] every selector matches the pods, with any release name", () => {
  for (const release of ["countersign", "approvals"]) {
    const objects = render([BASE, NETWORK, MONITORING, INGRESS, GATEWAY], release);
    const { labels } = ofKind(objects, "Deployment").spec.template.metadata;
    const services = allOfKind(objects, "Service");
    const [server] = services.filter(({ spec }) => spec.selector !== undefined);
    const selectors = [
      ofKind(objects, "Deployment").spec.selector.matchLabels,
      ofKind(objects, "PodDisruptionBudget").spec.selector.matchLabels,
      ofKind(objects, "NetworkPolicy").spec.podSelector.matchLabels,
      server?.spec.selector,
    ];
    for (const selector of selectors) assert.deepEqual(selector, labels);
    const monitor = ofKind(objects, "ServiceMonitor").spec;
    const monitored = services.filter(({ metadata }) =>
      Object.entries(monitor.selector.matchLabels).every(([name, value]) => {
        return metadata.labels[name] === value;
      }),
    );
    assert.deepEqual(monitored, [server]);
    // The alerts select this job.
    assert.equal(server?.metadata.labels[monitor.jobLabel], "countersign");
    const scaled = ofKind(objects, "HorizontalPodAutoscaler").spec.scaleTargetRef.name;
    assert.equal(scaled, ofKind(objects, "Deployment").metadata.name);
    assert.equal(ofKind(objects, "Deployment").spec.replicas, undefined);
  }
});

test("[ours.deploy.chart] the memory alert has the limit of the chart", () => {
  const { resources } = podOf(render([BASE])).containers[0];
  assert.equal(resources.limits.memory, "1Gi");
  const alerts = readFileSync(join(ROOT, "deploy/prometheus/alerts.yaml"), "utf8");
  const rules = parse(alerts) as { groups: { rules: { alert: string; expr: string }[] }[] };
  const rule = rules.groups[0]?.rules.find(({ alert }) => alert === "CountersignMemoryHigh");
  assert.match(rule?.expr ?? "", /> 0\.8 \* 1024 \* 1024 \* 1024$/);
});
