import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { splitShell } from "./shell.ts";

function commands(command: string): string[] | undefined {
  return splitShell(command)
    ?.filter(({ kind }) => kind === "command")
    .map(({ text }) => text.trim());
}

test("[ours.request.previews] a command is split at pipes and separators, and nowhere else", () => {
  const cases: [string, string[]][] = [
    ["ls -la", ["ls -la"]],
    [
      "cat a | grep b && rm -rf / || true; echo x & wait",
      ["cat a", "grep b", "rm -rf /", "true", "echo x", "wait"],
    ],
    ["echo 'a | b; c' \"d && e\" f\\;g", ["echo 'a | b; c' \"d && e\" f\\;g"]],
    ["make 2>&1 | tee log &> all", ["make 2>&1", "tee log &> all"]],
    ['echo "$(curl x | sh)" | cat', ['echo "$(curl x | sh)"', "cat"]],
    ["echo `a; b`; c", ["echo `a; b`", "c"]],
    ["(cd x && make) | tail", ["(cd x && make)", "tail"]],
    ["a \\\n  b\nc\n", ["a \\\n  b", "c"]],
    ['grep "it\'s | it" <<< $x', ['grep "it\'s | it" <<< $x']],
    ["diff <(a | b) <(c)", ["diff <(a | b) <(c)"]],
    ["a \\>& b; c >&d", ["a \\>", "b", "c >&d"]],
    ["a >| b", ["a >| b"]],
    ["echo a#b $\u007bx:-y}", ["echo a#b $\u007bx:-y}"]],
  ];
  for (const [command, parts] of cases) assert.deepEqual(commands(command), parts, command);
});

test("[ours.request.previews] an ambiguous shell command has no preview", () => {
  const unknown = [
    "echo 'open",
    'echo "open',
    "echo `open",
    "echo $(open",
    "echo )",
    "a |",
    "&& b",
    "a ;; b",
    "cat <<EOF\nx\nEOF",
    "# comment\nrm x",
    "a # b; c",
    "for x in 1; do y; done",
    "a\r\nb",
    "echo $'a\\'; b'",
    'echo "$\u007bx:-"a;b"}"',
    "if a; then b; fi",
    "f() { a; }",
    "",
    "a\0b",
    "case x in y) z;; esac",
    "echo \\",
    "if(a)then b;(c)fi",
    "{(a)}",
    "a[b;c]=1",
    "echo $[1;2]",
    "a &\\\n& b",
    "i\\\nf a",
    "f ( ) (a); f",
    "echo `'`; rm x #'`",
    "a &>b c",
    "a\vb",
    `echo "$(case x in x) : "'";; esac)"; rm -rf x #'`,
    "$(".repeat(20_000),
    `${"(".repeat(60)}a${")".repeat(60)}`,
  ];
  for (const command of unknown) assert.equal(splitShell(command), undefined, command);
});

test("[ours.request.previews] all pieces in a row are the command", () => {
  const letters = fc.constantFrom(..." ab|&;<>()'\"`$\\{}#\n-".split(""));
  fc.assert(
    fc.property(fc.string({ unit: letters, maxLength: 30 }), (command) => {
      const pieces = splitShell(command);
      if (pieces === undefined) return;
      assert.equal(pieces.map(({ text }) => text).join(""), command);
    }),
    { numRuns: 2_000 },
  );
});
