// Needs: bash, curl
import { test } from "node:test";
import { playGuide } from "./support/play-guide.ts";

test("[ours.policy.documented] the commands of the policy guide do what it says", async (t) => {
  await playGuide(t, "guides/policy.md");
});
