/** The access tokens of a server: read from the login, and refreshed before they expire. */

import { systemTiming } from "@countersign/sdk";
import { OauthClient } from "./client.ts";
import { isSameUrl, type LoginConfig } from "./config.ts";
import { OauthError } from "./discovery.ts";
import { type Login, LoginFile } from "./login-file.ts";

/** A token is refreshed this long before it expires. */
const EARLY_MS = 30_000;

export interface ProtectedServer {
  readonly name: string;
  readonly url: string;
  readonly oauth: LoginConfig;
}

export class ServerAccess {
  readonly #server: ProtectedServer;
  readonly #client: OauthClient;
  readonly #file: LoginFile;

  constructor(server: ProtectedServer, stateFolder: string) {
    this.#server = server;
    this.#client = new OauthClient(server.url, server.oauth);
    this.#file = new LoginFile(stateFolder, server.name);
  }

  /**
   * @param rejected a token that the server has rejected
   * @throws OauthError if a user must log in
   */
  async token(rejected?: string): Promise<string> {
    const login = await this.#read();
    if (login !== undefined && isUsable(login, rejected)) return login.accessToken;
    return this.#file.locked(async () => {
      // Another gateway may have refreshed it in the meantime.
      const current = await this.#read();
      if (current !== undefined && isUsable(current, rejected)) return current.accessToken;
      const renewed = await this.#renew(current);
      // First on disk: the old refresh token may be invalid from now on.
      await this.#file.write(renewed);
      return renewed.accessToken;
    });
  }

  async #renew(login: Login | undefined): Promise<Login> {
    if (this.#server.oauth.isMachine) return this.#client.requestAsMachine();
    const { name } = this.#server;
    const advice = `Run: countersign mcp-gateway --config FILE --login ${name}`;
    if (login === undefined) throw new OauthError(`The server ${name} needs a login. ${advice}`);
    if (login.refreshToken === undefined) {
      throw new OauthError(`The login of the server ${name} has expired. ${advice}`);
    }
    try {
      return await this.#client.refresh(login, login.refreshToken);
    } catch (error) {
      if (!(error instanceof OauthError)) throw error;
      throw new OauthError(`The login of the server ${name} failed: ${error.message} ${advice}`);
    }
  }

  /** The login, if it is for the server and the client of the config. */
  async #read(): Promise<Login | undefined> {
    const login = await this.#file.read();
    const { url, oauth } = this.#server;
    if (login?.server !== url) return undefined;
    const { issuer = login.issuer, clientId = login.clientId } = oauth;
    const isForClient = isSameUrl(issuer, login.issuer) && clientId === login.clientId;
    return isForClient ? login : undefined;
  }
}

function isUsable({ accessToken, expiresAt }: Login, rejected: string | undefined): boolean {
  if (accessToken === rejected) return false;
  return expiresAt === undefined || expiresAt - EARLY_MS > systemTiming.now();
}
