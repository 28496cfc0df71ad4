import assert from "node:assert/strict";
import { test } from "node:test";
import { variableNamer } from "./channel-target.ts";

test("[ours.apply.secrets] each secret of an export has a variable of its own", () => {
  const nameVariable = variableNamer();
  const channels = ["ops", "Ops!", "ops_url_2", "運用", "通知", "countersign", "7"];
  assert.deepEqual(
    channels.map((name) => nameVariable(name, "url")),
    [
      "CHANNEL_OPS_URL",
      "CHANNEL_OPS_URL_2",
      "CHANNEL_OPS_URL_2_URL",
      "CHANNEL_URL",
      "CHANNEL_URL_2",
      "CHANNEL_COUNTERSIGN_URL",
      "CHANNEL_7_URL",
    ],
  );
});
