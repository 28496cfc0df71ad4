// Needs: bash
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { approvedAndSealed } from "./support/approved-and-sealed.ts";
import { VERIFIER } from "./support/audit-archive.ts";
import { playGuide } from "./support/play-guide.ts";

test("[ours.audit.documented] the commands of the guide to proving a decision print its output", async (t) => {
  await playGuide(t, "guides/prove-a-decision.md", {
    async prepare({ server, folder }) {
      copyFileSync(VERIFIER, join(folder, "verify.mjs"));
      return { REQUEST: await approvedAndSealed(server) };
    },
  });
});
