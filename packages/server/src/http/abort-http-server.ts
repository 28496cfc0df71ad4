import type { FastifyInstance } from "fastify";

/** Closes a listening server without waiting for open exchanges. Their connections are closed. */
export async function abortHttpServer(app: FastifyInstance): Promise<void> {
  app.server.on("connection", (socket) => socket.destroy());
  app.server.closeAllConnections();
  await app.close();
}
