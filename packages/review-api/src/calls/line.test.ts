import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readArguments } from "./call.ts";
import { describeCall, lineOf, lineText } from "./line.ts";
import { readTemplate, templateLine } from "./line-template.ts";

function line(tool: string, args: unknown, server?: string): string {
  const described = describeCall(tool, server, JSON.stringify(args));
  return described === undefined ? "" : lineText(described);
}

test("[ours.request.line] the tools of coding agents are recognised by the shape of their arguments", () => {
  const lines: readonly (readonly [string, unknown, string])[] = [
    ["Bash", { command: "rm -rf build", description: "Clean" }, "$ rm -rf build"],
    ["Bash", { command: "ls", timeout: 5 }, "$ ls (and 1 more argument)"],
    ["shell", { command: ["bash", "-lc", "ls | wc"], workdir: "/repo" }, "/repo $ ls | wc"],
    ["shell", { command: ["rm", "a b"] }, '$ rm "a b"'],
    ["run_shell_command", { command: "npm test", directory: "web" }, "web $ npm test"],
    ["run", { command: "npx", args: ["evil", "x y"] }, '$ npx evil "x y"'],
    ["Bash", { command: "a\nb" }, "$ a ⏎ b"],
    [
      "Edit",
      { file_path: "src/cart.ts", old_string: "a\nb\nc", new_string: "a\nx\ny\nz\nc" },
      "Edit src/cart.ts +3 -1",
    ],
    ["Write", { file_path: "src/x.ts", content: "a\nb\n" }, "Write src/x.ts, 2 lines"],
    [
      "MultiEdit",
      {
        file_path: "a.ts",
        edits: [
          { old_string: "a", new_string: "b", replace_all: true },
          { old_string: "c", new_string: "" },
        ],
      },
      "Edit a.ts, 2 places, every match +1 -2",
    ],
    [
      "apply_patch",
      {
        input: "*** Begin Patch\n*** Update File: b.ts\n-x\n+y\n*** Delete File: c\n*** End Patch",
      },
      "Patch 2 files: b.ts, c +1 -1",
    ],
    [
      "WebFetch",
      { url: "https://a.example/x?y=1", prompt: "p" },
      "WebFetch a.example/x?y=1 (and 1 more argument)",
    ],
  ];
  for (const [tool, args, expected] of lines) assert.equal(line(tool, args), expected);
});

test("[ours.request.line] SQL, payments, e-mails, web requests and Kubernetes have own lines", () => {
  const lines: readonly (readonly [string, unknown, string])[] = [
    [
      "db.query",
      { sql: "DELETE FROM customers", database: "prod" },
      "SQL on prod, no WHERE: DELETE FROM customers",
    ],
    ["db.query", { sql: "SELECT 1" }, "SQL: SELECT 1"],
    [
      "stripe.refunds.create",
      { amount: 4900, currency: "gbp", customer: "cus_123" },
      "Refund 49.00 GBP (amount 4900) to cus_123",
    ],
    ["refund", { amount: 4900, currency: "GBP" }, "Refund 4900 GBP"],
    ["refund", { amount_cents: 5, currency: "USD" }, "Refund 0.05 USD (amount_cents 5)"],
    ["stripe_refund", { amount: 4900, currency: "JPY" }, "Refund 4900 JPY"],
    ["stripe_refund", { amount: 49.5, currency: "GBP" }, "Refund 49.5 GBP"],
    [
      "send_email",
      { to: "a@b.example", bcc: ["c@d.example"], subject: "Hi", body: "x" },
      'E-mail to a@b.example, c@d.example: "Hi" (and 1 more argument)',
    ],
    [
      "send_email",
      { to: "a@b.example, b@b.example", cc: "c@b.example", bcc: "d@b.example", subject: "Hi" },
      'E-mail to a@b.example, b@b.example, c@b.example and 1 more: "Hi"',
    ],
    [
      "http_request",
      { method: "post", url: "https://api.stripe.com/refunds", body: {} },
      "POST api.stripe.com/refunds (and 1 more argument)",
    ],
    [
      "fetch",
      { url: "https://github.com@evil.example/x" },
      "fetch https://github.com@evil.example/x",
    ],
    [
      "kubectl_delete",
      { resourceType: "deployment", name: "web", namespace: "prod" },
      "kubectl delete deployment/web in prod",
    ],
  ];
  for (const [tool, args, expected] of lines) assert.equal(line(tool, args), expected);
});

test("[ours.request.line] any other call shows four arguments and counts the rest", () => {
  const args = { labels: [1], body: "b", title: "Fix it", repo: "acme/web", draft: false, n: 1.5 };
  assert.equal(
    line("create_issue", args),
    'repo: acme/web, title: "Fix it", body: b, draft: false (and 2 more arguments)',
  );
  assert.equal(line("ping", {}), "No arguments");
});

test("[ours.request.line] of several arguments with one meaning, none is preferred", () => {
  const lines: readonly (readonly [string, unknown, string])[] = [
    ["run", { command: "ls", script: "rm -rf /" }, 'command: ls, script: "rm -rf /"'],
    ["Bash", { command: "ls", cwd: "/a", workdir: "/b" }, "$ ls (and 2 more arguments)"],
    [
      "http",
      { url: "https://a.example", uri: "https://b.example" },
      "url: https://a.example, uri: https://b.example",
    ],
    [
      "http",
      { method: "GET", verb: "DELETE", url: "https://a.example/x" },
      "http a.example/x (and 2 more arguments)",
    ],
    [
      "refund",
      { amount: 5, currency: "EUR", to: "a", account: "b" },
      "Refund 5 EUR (and 2 more arguments)",
    ],
    [
      "kubectl_delete",
      { kind: "pod", resource: "deployment", name: "web" },
      "name: web, kind: pod, resource: deployment",
    ],
    [
      "db.query",
      { sql: "SELECT 1", database: "test", connection: "prod" },
      "SQL: SELECT 1 (and 2 more arguments)",
    ],
  ];
  for (const [tool, args, expected] of lines) assert.equal(line(tool, args), expected);
});

test("[ours.request.line] a number of replicas is exact", () => {
  const args = '{"kind":"deployment","name":"web","replicas":12345678901234567890}';
  const described = describeCall("kubectl_scale", undefined, args);
  assert.equal(
    described && lineText(described),
    "kubectl scale deployment/web, replicas: 12345678901234567890",
  );
});

test("[ours.request.line] a value cannot look like a part of the line", () => {
  assert.equal(
    line("Write", { file_path: "a.ts, 1 line\nx", content: "" }),
    'Write "a.ts, 1 line\\nx", 0 lines',
  );
  assert.equal(line("x", { "a: b, c": "d, e: f" }), '"a: b, c": "d, e: f"');
});

test("[ours.request.line] a long line is cut between characters, and says how much it leaves out", () => {
  const command = `echo ${"😀".repeat(500)}`;
  const described = describeCall("Bash", undefined, JSON.stringify({ command }));
  assert.equal(described?.more, `${(1_007 - 2 * 240 + 7).toLocaleString("en")} more characters`);
  assert.ok(described?.text.isWellFormed());
  assert.equal(describeCall("Bash", undefined, `{"command":"${"a".repeat(400_000)}"}`), undefined);
  assert.equal(describeCall("Bash", undefined, "[1"), undefined);
});

test("[ours.request.line] every outermost argument is in the line or counted", () => {
  const names = fc.constantFrom("command", "to", "subject", "url", "sql", "amount", "name", "zz");
  fc.assert(
    fc.property(fc.string(), fc.dictionary(names, fc.jsonValue()), (tool, args) => {
      const described = describeCall(tool, "stripe", JSON.stringify(args));
      assert.ok(described !== undefined);
      const left = Number(/(\d+) more argument/.exec(described.more ?? "")?.[1] ?? 0);
      const shown = Object.keys(args).length - left;
      assert.ok(shown >= 0 && (shown > 0 || left === Object.keys(args).length));
      assert.ok(!described.text.includes("\n"));
    }),
  );
});

test("[ours.request.line] a template applies only to calls with a value at each of its paths", () => {
  const template = readTemplate("Refund {amount} {currency} to {customer.id}");
  assert.ok(!("fault" in template));
  const custom = [(call: Parameters<typeof templateLine>[1]) => templateLine(template, call)];
  const described = (args: unknown) => {
    const parsed = readArguments(JSON.stringify(args));
    assert.ok(parsed !== undefined);
    const found = lineOf({ tool: "refunds.create", args: parsed }, custom);
    return found && lineText(found);
  };
  const args = { amount: 5, currency: "EUR", customer: { id: "a b", vip: true }, reason: "x" };
  assert.equal(described(args), 'Refund 5 EUR to "a b" (and 2 more arguments)');
  assert.equal(described({ ...args, customer: "x" }), "Refund 5 EUR to x (and 1 more argument)");
  assert.equal(described({ ...args, customer: {} }), "Refund 5 EUR (and 2 more arguments)");
});

test("[ours.request.line] a template without a path, or with an invalid one, is a fault", () => {
  const faulty = ["", "Refund", "Refund {", "{a b}", "{}", "{__a}{", "a}b", "{a..b}", "{a}\n"];
  for (const source of faulty) assert.ok("fault" in readTemplate(source), source);
  assert.ok("fault" in readTemplate(`{a}${"x".repeat(200)}`));
});
