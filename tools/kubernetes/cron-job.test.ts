// Tier: slow
// Needs: go-tools
/** The CronJob of docs/guides/archive-the-audit-log.md, in the namespace of the chart. */

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { KUBERNETES_VERSIONS } from "../go-tools/tools.ts";
import { ofKind, parseObjects } from "./objects.ts";
import { guideBlock, kubeconform, render } from "./render.ts";

const GUIDE = resolve(import.meta.dirname, "../../docs/guides/archive-the-audit-log.md");
const CRON_JOB = guideBlock("cron-job.yaml", GUIDE);

for (const version of KUBERNETES_VERSIONS) {
  test(`[ours.deploy.chart] the CronJob of the archive conforms to Kubernetes ${version}`, () => {
    const { status, stdout } = kubeconform(CRON_JOB, version);
    assert.equal(status, 0, stdout);
  });
}

test("[ours.deploy.chart] the namespace of the chart admits the CronJob of the archive, and its variables name files of the Secret", () => {
  const job = ofKind(parseObjects(CRON_JOB), "CronJob").spec.jobTemplate.spec.template.spec;
  const server = ofKind(render([guideBlock("values.yaml")]), "Deployment").spec.template.spec;
  const { runAsNonRoot, seccompProfile, fsGroup } = job.securityContext;
  assert.deepEqual(
    { runAsNonRoot, seccompProfile, fsGroup },
    {
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
      fsGroup: server.securityContext.fsGroup,
    },
  );
  const [{ env, volumeMounts, securityContext }] = job.containers;
  assert.deepEqual(securityContext, {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  });
  const secret = job.volumes.find(({ secret }) => secret?.secretName === "countersign");
  const mount = volumeMounts.find(({ name }) => name === secret?.name);
  for (const { name, value } of env) {
    assert.match(name, /^COUNTERSIGN_\w+_FILE$/);
    const setting = name.replace(/^COUNTERSIGN_(\w+)_FILE$/, "$1").toLowerCase();
    assert.equal(value, `${mount?.mountPath}/${setting}`);
    const same = server.containers[0].env.find((variable) => variable.name === name);
    assert.equal(same?.value, value);
  }
});
