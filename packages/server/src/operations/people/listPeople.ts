import type { Context } from "../../context.ts";
import { listPersons, type StoredPerson } from "../../storage/sql/people/people.ts";

export type ListedPerson = Pick<StoredPerson, "id" | "login" | "name" | "disabledAt"> & {
  /** The user's sign-in methods. */
  readonly ways: readonly ("password" | "passkey" | "oidc")[];
};

/** All accounts, including disabled ones, sorted by login. */
export async function listPeople({ store }: Pick<Context, "store">): Promise<ListedPerson[]> {
  return (await listPersons(store)).map(({ hasPasskey, ...person }) => {
    const { id, login, name, disabledAt, passwordHash, oidcSubject } = person;
    const ways = [
      ...(passwordHash === null ? [] : (["password"] as const)),
      ...(hasPasskey ? (["passkey"] as const) : []),
      ...(oidcSubject === null ? [] : (["oidc"] as const)),
    ];
    return { id, login, name, disabledAt, ways };
  });
}
