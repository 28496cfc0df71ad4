/**
 * A PostgreSQL primary with one standby, and a way to them that can be turned to the other one:
 * what a failover needs. It takes the programs of an installed PostgreSQL, because the one that the
 * tests bring along cannot make standbys.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { findFreePort } from "@countersign/testing/free-port";
import { Client } from "pg";

const USER = "postgres";

export interface Cluster {
  readonly url: string;
  /** The standby is sent WAL and does not take it in. */
  freezeStandby(): Promise<void>;
  /** Ends the primary as a lost machine does, makes the standby the primary and turns to it. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param programs folder of `postgres`, `initdb`, `pg_basebackup` and `pg_ctl`
 * @param folder for the data, whose owner it changes; the caller removes it
 */
export async function startCluster(
  programs: string,
  folder: string,
  replication: "synchronous" | "asynchronous",
): Promise<Cluster> {
  // PostgreSQL refuses to run as root.
  const [uid, gid] = ["-u", "-g"].map((flag) =>
    Number(execFileSync("id", [flag, USER], { encoding: "utf8" })),
  ) as [number, number];
  chmodSync(folder, 0o755);
  chownSync(folder, uid, gid);
  const run = (name: string, ...args: readonly string[]): void => {
    execFileSync(join(programs, name), args, { uid, gid, cwd: folder, stdio: "ignore" });
  };
  const [first, second] = [join(folder, "first"), join(folder, "second")];
  const ports = [await findFreePort(), await findFreePort()] as const;
  const start = (data: string, port: number, ...settings: readonly string[]): ChildProcess => {
    const bare = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...settings];
    const flags = bare.flatMap((setting) => ["-c", setting]);
    const args = ["-D", data, "-p", String(port), ...flags];
    return spawn(join(programs, "postgres"), args, { uid, gid, cwd: folder, stdio: "ignore" });
  };
  run("initdb", "-D", first, "-U", USER, "--auth=trust", "--encoding=UTF8", "--no-locale");
  const primary = start(first, ports[0]);
  await query(ports[0], "select 1");
  run("pg_basebackup", "-D", second, "-R", "-h", "127.0.0.1", "-p", String(ports[0]), "-U", USER);
  const from = `host=127.0.0.1 port=${ports[0]} user=${USER} application_name=standby`;
  const standby = start(second, ports[1], `primary_conninfo=${from}`);
  await until(async () => (await query(ports[0], STREAMS)).length === 1);
  if (replication === "synchronous") {
    await query(ports[0], "alter system set synchronous_standby_names = 'standby'");
    await query(ports[0], "select pg_reload_conf()");
    await until(
      async () => (await query(ports[0], `${STREAMS} and sync_state = 'sync'`)).length > 0,
    );
  }
  const way = await startWay(ports[0]);
  let receiver = 0;
  return {
    url: `postgres://${USER}@127.0.0.1:${way.port}/postgres`,
    async freezeStandby() {
      receiver = Number((await query(ports[1], "select pid from pg_stat_wal_receiver"))[0]?.pid);
      process.kill(receiver, "SIGSTOP");
    },
    async failOver() {
      killAll(primary, first);
      way.turn(ports[1]);
      // The data in its socket never arrived, as if the network had failed first.
      if (receiver !== 0) process.kill(receiver, "SIGKILL");
      await until(async () => (await query(ports[1], "select pg_promote()")).length === 1);
    },
    async stop() {
      way.close();
      killAll(primary, first);
      killAll(standby, second);
      await pause(200);
    },
  };
}

const STREAMS = "select 1 from pg_stat_replication where state = 'streaming'";

/** The server and all its processes, at once. */
function killAll(server: ChildProcess, data: string): void {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const pid = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n", 1)[0] ?? "";
  const listed = execFileSync("ps", ["-o", "pid=", "--ppid", pid], { encoding: "utf8" });
  server.kill("SIGKILL");
  for (const child of listed.trim().split(/\s+/)) {
    try {
      process.kill(Number(child), "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

/** One statement on a connection of its own; waits for a server that starts. */
async function query(port: number, sql: string): Promise<Record<string, unknown>[]> {
  for (let tries = 0; ; tries++) {
    const client = new Client({ host: "127.0.0.1", port, user: USER, database: "postgres" });
    client.on("error", () => {});
    try {
      await client.connect();
      return (await client.query(sql)).rows;
    } catch (error) {
      if (tries === 100) throw error;
      await pause(100);
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(100);
}

interface Way {
  readonly port: number;
  /** Cuts every connection; later ones lead elsewhere. */
  turn(to: number): void;
  close(): void;
}

async function startWay(target: number): Promise<Way> {
  let to = target;
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const other = connect(to, "127.0.0.1");
    for (const [one, end] of [
      [socket, other],
      [other, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        end.destroy();
      });
      one.pipe(end);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    turn(port) {
      to = port;
      cut();
    },
    close() {
      server.close();
      cut();
    },
  };
}
