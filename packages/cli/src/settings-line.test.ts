import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandError } from "@countersign/command-line";
import { SettingsLine } from "./settings-line.ts";

const OWN = {
  name: { type: "text", value: "NAME", help: "" },
  yes: { type: "flag", help: "" },
} as const;

function faultOf(args: readonly string[]): string {
  try {
    new SettingsLine(args, OWN, ["server"]);
  } catch (error) {
    assert.ok(error instanceof CommandError);
    assert.equal(error.exitCode, 2);
    return error.message;
  }
  assert.fail(`accepted: ${args.join(" ")}`);
}

test("[ours.cli.exit-codes] a command line is read into its options and positional arguments", () => {
  const line = new SettingsLine(["one", "--name", "me", "--yes", "--port=80", "two"], OWN, [
    "server",
  ]);
  assert.deepEqual(line.take("the first", "the second"), ["one", "two"]);
  assert.equal(line.text("name"), "me");
  assert.equal(line.flag("yes"), true);
  assert.equal(line.json, false);
  assert.equal(line.config().port, 80);
});

test("[ours.cli.exit-codes] an unknown option is named", () => {
  assert.equal(faultOf(["--nome", "me"]), "there is no option --nome");
  assert.equal(faultOf(["-x"]), "there is no option -x");
});

test("[ours.cli.exit-codes] a setting of another group of commands is an unknown option", () => {
  assert.equal(faultOf(["--url", "http://localhost"]), "there is no option --url");
});

test("[ours.cli.exit-codes] a secret on the command line is rejected, with its proper place", () => {
  const hint = "is not accepted here, where other users can read it; set";
  assert.equal(
    faultOf(["--token", "abc"]),
    `--token ${hint} COUNTERSIGN_TOKEN or COUNTERSIGN_TOKEN_FILE`,
  );
  const key = "COUNTERSIGN_SECRET_KEY or COUNTERSIGN_SECRET_KEY_FILE";
  assert.equal(faultOf(["--secret-key=abc"]), `--secret-key ${hint} ${key}`);
});

test("[ours.cli.exit-codes] an option without its value and a flag with one are named", () => {
  assert.equal(faultOf(["--name"]), "--name needs a value");
  assert.equal(faultOf(["--name", "--yes"]), "--name needs a value, such as --name=VALUE");
  assert.equal(faultOf(["--yes=no"]), "--yes takes no value");
});

test("[ours.cli.exit-codes] a missing and a superfluous argument are named", () => {
  const one = new SettingsLine(["one"], OWN, []);
  assert.throws(() => one.take("the first", "the second"), { message: "the second is missing" });
  assert.throws(() => one.take(), { message: 'unexpected argument "one"' });
});
