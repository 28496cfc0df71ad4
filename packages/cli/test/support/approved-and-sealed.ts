import { DatabaseSync } from "node:sqlite";
import type { Server } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { approveRequest } from "./approve-request.ts";

/** @returns the id of a request that a reviewer has approved, and that is sealed */
export async function approvedAndSealed(server: Server): Promise<string> {
  const id = await approveRequest(server);
  await eventually("it is sealed", () => {
    const database = new DatabaseSync(server.database);
    try {
      const { size } = database.prepare("select sum(size) as size from audit_log").get() ?? {};
      const { n } = database.prepare("select count(*) as n from audit_entry").get() ?? {};
      return size === n ? true : undefined;
    } finally {
      database.close();
    }
  });
  return id;
}
