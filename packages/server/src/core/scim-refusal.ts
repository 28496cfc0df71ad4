/** An error response of the SCIM API. */

/** The error codes of RFC 7644, section 3.12, that this server sends. */
export type ScimType =
  | "invalidFilter"
  | "invalidPath"
  | "invalidSyntax"
  | "invalidValue"
  | "mutability"
  | "noTarget"
  | "uniqueness";

const STATUSES: Readonly<Record<ScimType, number>> = {
  invalidFilter: 400,
  invalidPath: 400,
  invalidSyntax: 400,
  invalidValue: 400,
  mutability: 400,
  noTarget: 400,
  uniqueness: 409,
};

/** An expected rejection of a SCIM request. The provider shows the message to its administrator. */
export class ScimRefusal extends Error {
  override readonly name = "ScimRefusal";
  readonly scimType: ScimType;

  constructor(scimType: ScimType, message: string) {
    super(message);
    this.scimType = scimType;
  }

  /** HTTP status. */
  get status(): number {
    return STATUSES[this.scimType];
  }
}

/** The body of an error response: RFC 7644, section 3.12. */
export function scimError(
  status: number,
  detail: string,
  scimType?: ScimType,
): Readonly<Record<string, unknown>> {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(status),
    scimType,
    detail,
  };
}
