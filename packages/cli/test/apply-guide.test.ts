// Needs: bash
import { test } from "node:test";
import { playGuide } from "./support/play-guide.ts";

test("[ours.apply.documented] the commands of the guide to configuration files print its output", async (t) => {
  await playGuide(t, "guides/configuration-as-files.md");
});
