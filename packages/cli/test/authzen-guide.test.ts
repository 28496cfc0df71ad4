// Needs: bash, curl
import { test } from "node:test";
import { playGuide } from "./support/play-guide.ts";

const INSTALL = {
  text: "npm ci",
  by: "true",
  reason: "It installs 641 MB. The folder of the test has the packages of this checkout.",
};

test("[ours.authzen.documented] the commands of the guide to AuthZEN print its output", async (t) => {
  await playGuide(t, "guides/authzen.md", { changes: [INSTALL] });
});
