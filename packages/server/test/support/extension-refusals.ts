/** One real answer for every code of the extensions, for every-refusal.ts. */

import type { ProblemCode } from "@countersign/protocol";
import { consumeCall, reportCall, startExtended } from "./extensions.ts";
import { end, type Scene } from "./scene.ts";
import type { Answer, Lifetime } from "./test-provider.ts";

/** Longer than an approval may be used. */
const LATER_MS = 25 * 3_600_000;

type Provoke = (scene: Scene) => Promise<Answer>;

async function approve(scene: Scene): Promise<string> {
  const request = await scene.server.submit(scene.instance.token, { timeout: "168h" });
  return (await end(scene, request, "approved")).id;
}

const PROVOCATIONS: Readonly<Partial<Record<ProblemCode, Provoke>>> = {
  async not_approved(scene) {
    const { id } = await scene.server.submit(scene.instance.token);
    return consumeCall(scene, id, "once");
  },
  async already_consumed(scene) {
    const id = await approve(scene);
    await consumeCall(scene, id, "once");
    return consumeCall(scene, id, "again");
  },
  async approval_expired(scene) {
    const id = await approve(scene);
    scene.clock.advance(LATER_MS);
    return consumeCall(scene, id, "once");
  },
  async not_consumed(scene) {
    return reportCall(scene, await approve(scene), { status: "succeeded" });
  },
  async outcome_conflict(scene) {
    const id = await approve(scene);
    await consumeCall(scene, id, "once");
    await reportCall(scene, id, { status: "succeeded" });
    return reportCall(scene, id, { status: "failed" });
  },
  async calls_frozen(scene) {
    const id = await approve(scene);
    const token = await scene.server.token({ kind: "reviewer", role: "admin", name: "freezer" });
    const body = { scope: "instance", instance_id: scene.instance.id };
    await scene.server.call("POST", "/review/v1/freezes", { token, body });
    return consumeCall(scene, id, "once");
  },
};

export interface ExtensionRefusal {
  readonly code: string;
  readonly answer: Answer;
  /** Values that no answer contains. */
  readonly secrets: readonly string[];
}

export async function provokeExtensionRefusals(t: Lifetime): Promise<ExtensionRefusal[]> {
  const refusals: ExtensionRefusal[] = [];
  const scene = await startExtended(t);
  const { data } = scene.server;
  const { token, provisioner } = scene.instance;
  for (const [code, provoke] of Object.entries(PROVOCATIONS)) {
    refusals.push({ code, answer: await provoke(scene), secrets: [token, provisioner, data] });
  }
  return refusals;
}
