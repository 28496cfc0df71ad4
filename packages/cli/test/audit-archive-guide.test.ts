// Needs: bash
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { approvedAndSealed } from "./support/approved-and-sealed.ts";
import { ageSeals, VERIFIER } from "./support/audit-archive.ts";
import { playGuide } from "./support/play-guide.ts";

test("[ours.audit-archive.prune] the commands of the guide to the audit archive print its output", async (t) => {
  await playGuide(t, "guides/archive-the-audit-log.md", {
    async prepare({ server, folder }) {
      copyFileSync(VERIFIER, join(folder, "verify.mjs"));
      const id = await approvedAndSealed(server);
      ageSeals(server.database);
      return { REQUEST: id };
    },
  });
});
