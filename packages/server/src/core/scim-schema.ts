/**
 * The resources of the SCIM API as data: their attributes with types and rules. The parser, PATCH,
 * filters and the endpoint `/Schemas` use this one table.
 *
 * @see RFC 7643, sections 2.2 (characteristics of attributes), 4.1 (User), 4.2 (Group), 7 (schemas)
 */

export interface Attribute {
  readonly name: string;
  readonly type: "string" | "boolean" | "complex" | "reference" | "dateTime";
  readonly multiValued: boolean;
  readonly description: string;
  readonly required: boolean;
  readonly caseExact: boolean;
  readonly mutability: "readOnly" | "readWrite" | "immutable";
  readonly returned: "always" | "default";
  readonly uniqueness: "none" | "server";
  /** Suggested values. */
  readonly canonicalValues?: readonly string[];
  readonly referenceTypes?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
}

export interface ResourceSchema {
  /** URN of the schema. */
  readonly id: string;
  readonly name: "User" | "Group";
  readonly description: string;
  /** Path of the collection. */
  readonly endpoint: "/Users" | "/Groups";
  readonly attributes: readonly Attribute[];
}

type Rules = Partial<Omit<Attribute, "name" | "description">>;

function attribute(name: string, description: string, rules: Rules = {}): Attribute {
  return {
    name,
    type: "string",
    multiValued: false,
    description,
    required: false,
    caseExact: false,
    mutability: "readWrite",
    returned: "default",
    uniqueness: "none",
    ...rules,
  };
}

export const USER_SCHEMA: ResourceSchema = {
  id: "urn:ietf:params:scim:schemas:core:2.0:User",
  name: "User",
  description: "A user who can become a reviewer",
  endpoint: "/Users",
  attributes: [
    attribute("userName", "The login of the user. The login stays when userName changes.", {
      required: true,
      uniqueness: "server",
    }),
    attribute("name", "The parts of the name", {
      type: "complex",
      subAttributes: [
        attribute("formatted", "The full name"),
        attribute("familyName", "The family name"),
        attribute("givenName", "The given name"),
      ],
    }),
    attribute("displayName", "The name that other users see"),
    attribute("active", "False: the user cannot sign in, and has no power. New users: true.", {
      type: "boolean",
      required: true,
    }),
    attribute("emails", "Email addresses. The server stores them and sends no mail to them.", {
      type: "complex",
      multiValued: true,
      subAttributes: [
        attribute("value", "The address"),
        attribute("display", "A label"),
        attribute("type", "The kind of the address", {
          canonicalValues: ["work", "home", "other"],
        }),
        attribute("primary", "True for at most one address", { type: "boolean" }),
      ],
    }),
    attribute("groups", "The groups that contain the user", {
      type: "complex",
      multiValued: true,
      mutability: "readOnly",
      subAttributes: [
        attribute("value", "The id of the group", { mutability: "readOnly", caseExact: true }),
        attribute("$ref", "The address of the group", {
          type: "reference",
          mutability: "readOnly",
          caseExact: true,
          referenceTypes: ["Group"],
        }),
        attribute("display", "The name of the group", { mutability: "readOnly" }),
      ],
    }),
  ],
};

export const GROUP_SCHEMA: ResourceSchema = {
  id: "urn:ietf:params:scim:schemas:core:2.0:Group",
  name: "Group",
  description: "A group that the settings oidc_roles and oidc_groups can name",
  endpoint: "/Groups",
  attributes: [
    attribute("displayName", "The name of the group", { required: true }),
    attribute("members", "The users in the group. A group cannot contain groups.", {
      type: "complex",
      multiValued: true,
      subAttributes: [
        attribute("value", "The id of the user", { mutability: "immutable", caseExact: true }),
        attribute("$ref", "The address of the user", {
          type: "reference",
          mutability: "immutable",
          caseExact: true,
          referenceTypes: ["User"],
        }),
        attribute("type", "Always User", { mutability: "immutable", canonicalValues: ["User"] }),
      ],
    }),
  ],
};

export const RESOURCE_SCHEMAS: readonly ResourceSchema[] = [USER_SCHEMA, GROUP_SCHEMA];

/** Attributes of every resource: RFC 7643, section 3.1. `/Schemas` does not list them. */
const COMMON: readonly Attribute[] = [
  attribute("schemas", "The schemas of the resource", {
    type: "reference",
    multiValued: true,
    mutability: "readOnly",
    returned: "always",
    caseExact: true,
  }),
  attribute("id", "The id at this server", {
    mutability: "readOnly",
    returned: "always",
    caseExact: true,
    uniqueness: "server",
  }),
  attribute("externalId", "The id at the provider", { caseExact: true }),
  attribute("meta", "Data about the resource", {
    type: "complex",
    mutability: "readOnly",
    subAttributes: [
      attribute("resourceType", "User or Group", { mutability: "readOnly", caseExact: true }),
      attribute("created", "Time of the creation", { type: "dateTime", mutability: "readOnly" }),
      attribute("lastModified", "Time of the last change", {
        type: "dateTime",
        mutability: "readOnly",
      }),
      attribute("location", "The address of the resource", {
        type: "reference",
        mutability: "readOnly",
        caseExact: true,
      }),
    ],
  }),
];

/** Names are not case-sensitive: RFC 7643, section 2.1. */
export function findAttribute(schema: ResourceSchema, name: string): Attribute | undefined {
  return findIn([...COMMON, ...schema.attributes], name);
}

export function findSubAttribute(parent: Attribute, name: string): Attribute | undefined {
  return findIn(parent.subAttributes ?? [], name);
}

function findIn(attributes: readonly Attribute[], name: string): Attribute | undefined {
  const key = name.toLowerCase();
  return attributes.find((each) => each.name.toLowerCase() === key);
}

/**
 * Attributes of RFC 7643 that providers send and this server does not store. PATCH ignores them. It
 * rejects other unknown names, so that a misspelled `active` has no silent success.
 */
const NOT_STORED: readonly string[] = [
  "nickName",
  "profileUrl",
  "title",
  "userType",
  "preferredLanguage",
  "locale",
  "timezone",
  "password",
  "phoneNumbers",
  "ims",
  "photos",
  "addresses",
  "entitlements",
  "roles",
  "x509Certificates",
].map((name) => name.toLowerCase());

export function isNotStored(name: string): boolean {
  return NOT_STORED.includes(name.toLowerCase());
}

/** Sub-attributes of `name` that the server does not store. */
const NAME_PARTS = ["middlename", "honorificprefix", "honorificsuffix"];

export function isNotStoredPart(parent: Attribute, name: string): boolean {
  return parent.name === "name" && NAME_PARTS.includes(name.toLowerCase());
}
