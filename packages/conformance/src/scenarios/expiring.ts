/**
 * The rules after an approval or a credential has expired. The provider chooses the validity, so
 * the kit can test them only if it is short.
 */

import { pause, wallClock } from "../clock.ts";
import { expectRefusal, type Kit, provisionedBy } from "../kit.ts";
import { type Scenario, scenario } from "../scenario.ts";
import { expect, NotApplicable, NotTested } from "../violation.ts";

/** Between two clocks, and until a sweep has seen it. */
const MARGIN_MS = 300;

export const EXPIRING: readonly Scenario[] = [
  scenario(
    "decide.keeps-status",
    "An approval stays approved after its expires_at",
    ["decision.expiry.keeps-status", "request.terminal.unchanged"],
    async (kit) => {
      const instance = await kit.provision();
      const { id } = await kit.submit(instance);
      const { decision } = await kit.decide(instance, id, "approve");
      const { decidedAt = "", expiresAt = "" } = decision ?? {};
      await outlast(kit, Date.parse(expiresAt) - Date.parse(decidedAt), "approvals");
      const { status, decision: later } = await kit.read(instance, id);
      const rule = "decision.expiry.keeps-status";
      expect(status === "approved", rule, `after its expires_at the request is ${status}`);
      const isSame = later?.expiresAt === expiresAt && later.decidedAt === decidedAt;
      expect(isSame, "request.terminal.unchanged", "the decision has other times by then");
    },
    { needs: ["decider"], isSlow: true },
  ),
  scenario(
    "authentication.expired",
    "A credential is answered 401 after its expires_at",
    ["auth.expired"],
    async (kit) => {
      const answer = await kit.tryProvision({ token: kit.provisioner, key: kit.key(), body: {} });
      const { token, expiresAt } = provisionedBy(answer);
      if (expiresAt === undefined) throw new NotApplicable("credentials are not said to expire");
      const { date } = Object.fromEntries(answer.headers);
      // By the provider's own clock, where it shows it.
      const now = date?.[0] === undefined ? wallClock() : Date.parse(date[0]);
      await outlast(kit, Date.parse(expiresAt) - now, "credentials");
      const late = await kit.call("getApprovalRequest", { token, id: crypto.randomUUID() });
      expectRefusal(late, 401, "auth.expired");
    },
    { isSlow: true },
  ),
];

async function outlast({ timing, signal }: Kit, validityMs: number, what: string): Promise<void> {
  if (validityMs > timing.windowMsMax) {
    const seconds = Math.round(validityMs / 1000);
    throw new NotTested(`the provider's ${what} last for ${seconds} s (see --longest-wait)`);
  }
  await pause(Math.max(0, validityMs) + MARGIN_MS, signal);
}
