import { test } from "node:test";
import { temporaryFolder } from "./support/child.ts";
import { playGuide, serveIn } from "./support/guide.ts";

test("[ours.policy.documented] the commands of the policy guide do what it says", async (t) => {
  const folder = temporaryFolder(t);
  const { url } = await serveIn(t, folder);
  await playGuide(t, "docs/guides/policy.md", { folder, url });
});
