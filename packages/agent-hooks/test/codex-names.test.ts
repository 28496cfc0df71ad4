// Tier: slow
/**
 * The names of MCP tools that Codex changes. After
 * `npm run coding-agents`, the real program lists tools too.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { Child, fileOwner, temporaryFolder } from "@countersign/testing/child";
import { findCodingAgents } from "@countersign/testing/coding-agents";
import { ownEnvironment } from "@countersign/testing/countersign";
import { listTools } from "../src/codex/list-tools.ts";
import { serverSettings, validServers, writeToolList } from "../src/codex/tool-list.ts";
import { codexNames, type ListedServer, resolveCodexTool } from "../src/codex/tool-names.ts";
import { findings, newHome, run } from "./support/agent-home.ts";
import { startCodexModel } from "./support/codex-model.ts";
import { callInput, type HookScene, startHook, startHookScene } from "./support/hook-scene.ts";

const codex = findCodingAgents()?.get("codex");
const MCP_TOOLS = join(import.meta.dirname, "support/mcp-tools.ts");

const file = fileOwner();
let scene: HookScene;

before(async () => {
  scene = await startHookScene(file);
});

const LONG = `${"very.long.".repeat(14)}tool`;
const LONG_SERVER = `${"verylongserver-".repeat(8)}end`;

/** Names in hooks of Codex 0.169.0, recorded with these servers and tools. */
const RECORDED: readonly (readonly [string, string, string])[] = [
  ["google-mail", "gmail.send_email", "mcp__google_mail__gmail_send_email"],
  ["google-mail", "plain", "mcp__google_mail__plain"],
  ["google-mail", "_lead", "mcp__google_mail__lead"],
  ["google-mail", "a_b", "mcp__google_mail__a_b_81d30482f8aa"],
  ["google-mail", "a.b", "mcp__google_mail__a_b_e7f164a5b4b0"],
  ["google-mail", LONG, `mcp__google_mail__${"very_long_".repeat(9)}very_lo_e35b74529fa6`],
  ["google-cal", "x", "mcp__google_cal_fe015e2eb1fb__x"],
  ["google_cal", "x", "mcp__google_cal_1d738562b4ff__x"],
  ["a__b", "c", "mcp__a__b__c"],
  ["a", "b__c", "mcp__a__b__c"],
  ["trail_", "_z", "mcp__trail__z"],
  ["under__", "__two", "mcp__under__two"],
];

test("[ours.adapters.codex.names] the names are those that Codex 0.169.0 gives to its hooks", () => {
  for (const [server, tool, name] of RECORDED) {
    assert.ok(codexNames(server, tool).has(name), `${name}: ${[...codexNames(server, tool)]}`);
  }
  // Only the offer to the model was recorded for these two, not a call.
  const start = `mcp__${"verylongserver_".repeat(7)}ver`;
  const [first = "", second = ""] = ["some.tool", "__two"].map((tool) => {
    return [...codexNames(LONG_SERVER, tool)].find((name) => name.startsWith(`${start}__`));
  });
  assert.deepEqual([first, second].sort(), [`${start}__9f41b307c652`, `${start}__dd16104469fc`]);
});

const SERVERS: readonly ListedServer[] = [
  { name: "google-mail", tools: ["gmail.send_email", "a_b", "a.b"] },
  { name: "a__b", tools: ["c"] },
  { name: "a", tools: ["b__c"] },
];

/** The names of a call, with the tools that it may belong to. */
function resolved(name: string, others: readonly string[] = []): unknown[] {
  const { server, tool, source, candidates = [] } = resolveCodexTool(name, SERVERS, others) ?? {};
  return [server, tool, source, candidates.length];
}

test("[ours.adapters.codex.names] a name of exactly one listed tool resolves to it", () => {
  const mail = "mcp__google_mail__gmail_send_email";
  const expected = ["google-mail", "gmail.send_email", "server", 1];
  assert.deepEqual(resolved(mail), expected);
  assert.deepEqual(resolved(mail, ["google", "google_mailbox", "b"]), expected);
  const hashed = resolved("mcp__google_mail__a_b_e7f164a5b4b0");
  assert.deepEqual(hashed, ["google-mail", "a.b", "server", 1]);
});

test("[ours.adapters.codex.names] every other name keeps the spelling of Codex", () => {
  assert.deepEqual(resolved("Bash"), [undefined, undefined, undefined, 0]);
  assert.deepEqual(resolved("mcp__google_mail__a_b"), ["google_mail", "a_b", "codex", 2]);
  assert.deepEqual(resolved("mcp__a__b__c"), ["a", "b__c", "codex", 2]);
  assert.deepEqual(resolved("mcp__new__tool_x"), ["new", "tool_x", "codex", 0]);
  // The server "google.mail" was not listed. The tool may be one of its tools.
  const mail = "mcp__google_mail__gmail_send_email";
  const unlisted = ["google_mail", "gmail_send_email", "codex", 1];
  assert.deepEqual(resolved(mail, ["google.mail"]), unlisted);
});

test("[ours.adapters.codex.names] a list is valid for servers with the same settings", () => {
  const config = '[mcp_servers.a]\ncommand = "x"\n[mcp_servers."b.c"]\nurl = "y"\n';
  const settings = serverSettings(config);
  const servers = [...settings].map(([name, digest]) => ({ name, tools: [], settings: digest }));
  const list = { config: "/c.toml", servers };
  const namesAfter = (text: string) => {
    const { listed, others } = validServers(list, serverSettings(text));
    return [listed.map(({ name }) => name), others];
  };
  assert.deepEqual(namesAfter(config), [["a", "b.c"], []]);
  const permitted = '[mcp_servers.a.tools.t]\napproval_mode = "approve"\n';
  assert.deepEqual(namesAfter(`${config}${permitted}`), [["a", "b.c"], []]);
  assert.deepEqual(namesAfter(config.replace('"x"', '"z"')), [["b.c"], ["a"]]);
  assert.deepEqual(namesAfter(`${config}enabled = false\n`), [["a"], []]);
  assert.deepEqual(namesAfter(config.replace("b.c", "b-c")), [["a"], ["b-c"]]);
});

interface ServerOfTest {
  readonly name: string;
  readonly args: readonly string[];
  readonly more?: string;
}

function configWith(servers: readonly ServerOfTest[]): string {
  return servers
    .map(({ name, args, more = "" }) => {
      const words = JSON.stringify([MCP_TOOLS, ...args]);
      const command = `command = ${JSON.stringify(process.execPath)}\nargs = ${words}\n`;
      return `[mcp_servers.${JSON.stringify(name)}]\n${command}${more}\n`;
    })
    .join("");
}

const MAIL: ServerOfTest = { name: "google-mail", args: ["gmail.send_email"] };
/** In a home. */
const LIST = ".config/countersign/adapters/codex.tools.json";

const MAIL_NAME = "mcp__google_mail__gmail_send_email";

/** A home with a configuration of Codex, and a list of the tools of the server for mail. */
function homeWithList(t: TestContext): { home: string; config: string; list: string } {
  const home = temporaryFolder(t);
  const config = join(home, "config.toml");
  writeFileSync(config, configWith([MAIL]));
  const list = join(home, LIST);
  const [[name = "", settings = ""] = []] = [...serverSettings(configWith([MAIL]))];
  writeToolList(list, { config, servers: [{ name, settings, tools: ["gmail.send_email"] }] });
  return { home, config, list };
}

/** The request of a hook for a call of this tool. */
async function requestOf(t: TestContext, home: string, tool_name: string) {
  const input = callInput({ tool_name, tool_input: {} });
  const hook = startHook(t, home, { agent: "codex", input, env: scene.environment });
  const id = await scene.decideNext("approve");
  const { code, stderr } = await hook.ends();
  assert.equal(code, 0, stderr);
  const { json } = await scene.server.call<{
    tool: string;
    context: Readonly<Record<string, unknown>>;
  }>("GET", `/v1/requests/${id}`, { token: scene.token });
  const { server, server_tool, tool_name_from, tool_candidates } = json.context;
  return { tool: json.tool, server, server_tool, tool_name_from, tool_candidates };
}

test("[ours.adapters.codex.names] the hook submits the names of a listed tool", async (t) => {
  const { home } = homeWithList(t);
  assert.deepEqual(await requestOf(t, home, MAIL_NAME), {
    tool: "mcp__google-mail__gmail.send_email",
    server: "google-mail",
    server_tool: "gmail.send_email",
    tool_name_from: "server",
    tool_candidates: undefined,
  });
});

test("[ours.adapters.codex.names] without a valid list, the hook submits the spelling of Codex", async (t) => {
  const spelling = {
    tool: MAIL_NAME,
    server: "google_mail",
    server_tool: "gmail_send_email",
    tool_name_from: "codex",
    tool_candidates: undefined,
  };
  assert.deepEqual(await requestOf(t, temporaryFolder(t), MAIL_NAME), spelling);
  const changed = homeWithList(t);
  writeFileSync(changed.config, configWith([{ ...MAIL, args: ["gmail_send_email"] }]));
  assert.deepEqual(await requestOf(t, changed.home, MAIL_NAME), spelling);
  const open = homeWithList(t);
  chmodSync(open.list, 0o644);
  assert.deepEqual(await requestOf(t, open.home, MAIL_NAME), spelling);
  const invalid = homeWithList(t);
  writeFileSync(invalid.list, "{");
  assert.deepEqual(await requestOf(t, invalid.home, MAIL_NAME), spelling);
  const ambiguous = homeWithList(t);
  const text = readFileSync(ambiguous.list, "utf8");
  writeFileSync(
    ambiguous.list,
    text.replace('"gmail.send_email"', '"gmail.send_email", "gmail-send.email"'),
  );
  assert.deepEqual(await requestOf(t, ambiguous.home, MAIL_NAME), {
    ...spelling,
    tool_candidates: ["google-mail/gmail.send_email", "google-mail/gmail-send.email"],
  });
});

/** Answers as `codex app-server`, one server on each page. */
const CODEX_STAND_IN = `#!${process.execPath}
const lines = require("node:readline").createInterface({ input: process.stdin });
const pages = JSON.parse(process.env.PAGES);
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  console.log("not JSON");
  console.log(JSON.stringify({ method: "notification", id: 7 }));
  if (pages.length === 0) process.exit(0);
  if (method === "initialize") return console.log(JSON.stringify({ id, result: {} }));
  const page = Number(params.cursor ?? 0);
  const nextCursor = page + 1 < pages.length ? String(page + 1) : null;
  console.log(JSON.stringify({ id, result: { data: [pages[page]], nextCursor } }));
});
`;

test("[ours.adapters.codex.names] Codex lists the tools; servers that fail are named", async (t) => {
  const folder = temporaryFolder(t);
  const program = join(folder, "codex");
  writeFileSync(program, CODEX_STAND_IN, { mode: 0o755 });
  const config = join(folder, "config.toml");
  const names = ["a", "b", "c", "d"];
  writeFileSync(config, configWith(names.map((name) => ({ name, args: [] }))));
  const tools = { x: { name: "x.y" }, z: { name: "" }, n: { name: "a\nb" } };
  const pages = [
    { name: "a", serverInfo: {}, tools, toolsError: null },
    { name: "b", serverInfo: null, tools: {}, toolsError: "no such file" },
    { name: "c", serverInfo: null, tools: {}, toolsError: null },
    { name: "plugin", serverInfo: {}, tools },
  ];
  const order = (answers: readonly object[]) => {
    const environment = { ...process.env, PAGES: JSON.stringify(answers) };
    return { program, config, folder, environment };
  };
  const { list, failed } = await listTools(order(pages));
  assert.deepEqual(
    list.servers.map(({ name, tools }) => [name, tools]),
    [["a", ["x.y"]]],
  );
  assert.deepEqual(failed, [
    { name: "b", reason: "no such file" },
    { name: "c", reason: "it did not start" },
    { name: "d", reason: "Codex does not list it" },
  ]);
  await assert.rejects(listTools(order([])), /ended without an answer/);
});

test("[ours.adapters.codex.names] install without Codex says that no tools were listed", async (t) => {
  const home = newHome(t);
  writeFileSync(join(dirname(home.codex), "config.toml"), configWith([MAIL]));
  const args = ["install", "codex", "--url", scene.url];
  const env = { PATH: "/usr/bin:/bin" };
  const first = await run(t, home, args, { secret: scene.token, env });
  assert.match(first.stderr, /were not listed: codex is not on the PATH/);
  const second = await run(t, home, ["install", "codex", "--no-agent"], { env });
  assert.doesNotMatch(second.stderr, /listed/);
});

if (codex !== undefined) {
  /** The configuration of a real Codex, which uses a loopback model. */
  const start = (t: TestContext, home: string, url: string) => {
    const provider = `{name="m",base_url="${url}",wire_api="responses",env_key="MODEL_KEY"}`;
    const options = [
      'model_provider="m"',
      `model_providers.m=${provider}`,
      'approval_policy="never"',
    ].flatMap((option) => ["-c", option]);
    const words = ["exec", "-m", "gpt-5", "--skip-git-repo-check", "--ephemeral", ...options];
    const sandbox = ["--sandbox", "danger-full-access", "send it"];
    const environment = { ...ownEnvironment(), HOME: home, SHELL: "/bin/sh", MODEL_KEY: "none" };
    const shell = ["/bin/sh", "-c", 'exec "$@" < /dev/null', "sh", codex, ...words, ...sandbox];
    return new Child(t, shell, { env: environment, cwd: home });
  };

  test("[ours.adapters.codex.names] the real Codex: install lists its servers, and a call has their names", async (t) => {
    const home = newHome(t);
    const config = join(dirname(home.codex), "config.toml");
    const wanted = { name: "with-variable", args: ["--variable", "MAIL_KEY", "x.y"] };
    const more = "required = true";
    const servers = [
      { ...MAIL, more },
      { ...wanted, more: 'env_vars = ["MAIL_KEY"]' },
    ];
    const fails = { name: "fails", args: ["--fail"] };
    writeFileSync(config, configWith([...servers, fails]));
    const bin = temporaryFolder(t);
    writeFileSync(join(bin, "codex"), `#!/bin/sh\nexec ${codex} "$@"\n`, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env.PATH}`, MAIL_KEY: randomUUID() };
    const args = ["install", "codex", "--url", scene.url, "--wait", "60s"];
    const { code, stderr } = await run(t, home, args, { secret: scene.token, env });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Codex could not list the tools of fails \(/);
    const list = join(home.path, LIST);
    assert.equal(statSync(list).mode & 0o777, 0o600);
    const listed = JSON.parse(readFileSync(list, "utf8")).servers as ListedServer[];
    assert.deepEqual(
      listed.map(({ name, tools }) => [name, tools]),
      [
        ["google-mail", ["gmail.send_email"]],
        ["with-variable", ["x.y"]],
      ],
    );

    writeFileSync(config, readFileSync(config, "utf8").replace('"--fail"', '"other"'));
    const model = await startCodexModel(t, "mcp__google_mail", "gmail_send_email");
    const agent = start(t, home.path, model.url);
    const id = await scene.decideNext("approve");
    const ended = await agent.ends();
    assert.match(model.result() ?? "", /ran gmail\.send_email/, ended.stderr);
    const path = `/v1/requests/${id}`;
    const { text } = await scene.server.call("GET", path, { token: scene.token });
    const { tool, context } = JSON.parse(text);
    assert.equal(tool, "mcp__google-mail__gmail.send_email");
    assert.equal(context.tool_name_from, "server");

    const { all } = await findings(t, home, "codex", env);
    assert.equal(all.tools?.level, "ok", all.tools?.text);
    assert.match(all.tools?.text ?? "", /names of 3 tools of 3 MCP servers/);
    await run(t, home, ["uninstall", "codex"], { env });
    assert.equal(existsSync(list), false);
  });
}
