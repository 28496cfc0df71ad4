// Needs: bash, curl
import { test } from "node:test";
import { playGuide } from "./support/play-guide.ts";

test("[ours.people.documented] the commands of the guide to people print its output", async (t) => {
  await playGuide(t, "guides/people.md");
});
