// Needs: bash, curl
import { test } from "node:test";
import { playGuide } from "./support/play-guide.ts";

test("[ours.policy.documented] the commands of the policy guide print its output", async (t) => {
  await playGuide(t, "guides/policy.md");
});
