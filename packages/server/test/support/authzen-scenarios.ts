/**
 * The scenarios of the OpenID AuthZEN working group, as tables, with policies for them. The
 * requests and the expected decisions come from https://github.com/openid/authzen at revision
 * e287920eed842b227e38531c1735b712337ca44d:
 *
 * - certification/authorization-api-1_0-scenario.md, Copyright (c) 2026 The OpenID Foundation,
 *   which licenses it for implementations with this attribution;
 * - interop/authzen-todo-backend/test/decisions-authorization-api-1_0-02.json, Copyright (c) 2024
 *   Aserto, MIT license.
 */

/** Section 1.4 of the certification scenario, "Required Policy Behaviour". */
export const CERTIFICATION_POLICY = `version: 1
rules:
  - id: readers
    match: { tool: read }
    when: |-
      context.authzen.subject.id in ["alice", "bob"] &&
      context.authzen.resource.id == "record-1"
    then: approve
  - id: writers
    match: { tool: write }
    when: |-
      context.authzen.subject.id == "alice" && (
        !has(context.authzen.resource.properties) ||
        !has(context.authzen.resource.properties.status) ||
        context.authzen.resource.properties.status != "archived")
    then: approve
  - id: admins
    match: { tool: write }
    when: |-
      has(context.authzen.subject.properties) &&
      has(context.authzen.subject.properties.role) &&
      context.authzen.subject.properties.role == "admin" &&
      has(context.authzen.resource.properties) &&
      context.authzen.resource.properties.status == "archived"
    then: approve
  - id: soft-deletes
    match: { tool: delete }
    when: |-
      context.authzen.subject.id == "alice" && context.authzen.action.properties.soft
    then: approve
`;

export const ALICE = { type: "user", id: "alice" };
export const BOB = { type: "user", id: "bob" };
export const ADMIN = { type: "user", id: "bob", properties: { role: "admin" } };
export const RECORD_1 = { type: "record", id: "record-1" };
export const RECORD_2 = { type: "record", id: "record-2" };
export const ACTIVE = { type: "record", id: "record-1", properties: { status: "active" } };
export const ARCHIVED = { type: "record", id: "record-2", properties: { status: "archived" } };

const READ = { name: "read" };
const WRITE = { name: "write" };
const TIME = "2025-06-27T18:03-07:00";

/** Requests of section 2.2, with the decision. */
export const SINGLE: readonly (readonly [string, object, boolean])[] = [
  ["2.2.1", { subject: ALICE, action: READ, resource: RECORD_1 }, true],
  ["1.4 rule 2", { subject: ALICE, action: WRITE, resource: RECORD_1 }, true],
  ["1.4 rule 3", { subject: BOB, action: READ, resource: RECORD_1 }, true],
  ["2.2.2", { subject: BOB, action: WRITE, resource: RECORD_1 }, false],
  [
    "2.2.3",
    {
      subject: ALICE,
      action: READ,
      resource: RECORD_1,
      context: { time: TIME, ip: "192.168.1.1" },
    },
    true,
  ],
  ["2.2.4", { subject: ALICE, action: WRITE, resource: ARCHIVED }, false],
  ["2.2.5", { subject: ADMIN, action: WRITE, resource: ARCHIVED }, true],
  [
    "2.2.6",
    { subject: ALICE, action: { name: "delete", properties: { soft: true } }, resource: RECORD_1 },
    true,
  ],
  [
    "2.2.7",
    { subject: ALICE, action: { name: "delete", properties: { soft: false } }, resource: RECORD_1 },
    false,
  ],
  [
    "2.2.8",
    {
      subject: { type: "user", id: "alice", properties: { department: "Sales", role: "manager" } },
      action: { name: "read", properties: { method: "GET" } },
      resource: {
        type: "record",
        id: "record-1",
        properties: { status: "active", owner: "bob" },
      },
    },
    true,
  ],
  [
    "2.2.9",
    {
      subject: ALICE,
      action: READ,
      resource: RECORD_1,
      foo: "bar",
      futureField: { nested: true },
    },
    true,
  ],
];

/** Bodies of section 2.4, as they are sent. The answer is 400. */
export const MALFORMED: readonly (readonly [string, unknown])[] = [
  ["2.4.1 subject", { action: READ, resource: RECORD_1 }],
  ["2.4.1 action", { subject: ALICE, resource: RECORD_1 }],
  ["2.4.1 resource", { subject: ALICE, action: READ }],
  ["2.4.2 subject.type", { subject: { id: "alice" }, action: READ, resource: RECORD_1 }],
  ["2.4.2 subject.id", { subject: { type: "user" }, action: READ, resource: RECORD_1 }],
  ["2.4.2 action.name", { subject: ALICE, action: {}, resource: RECORD_1 }],
  ["2.4.2 resource.type", { subject: ALICE, action: READ, resource: { id: "record-1" } }],
  ["2.4.2 resource.id", { subject: ALICE, action: READ, resource: { type: "record" } }],
  ["2.4.4", '{"subject":'],
  ["2.4.5", ""],
  ["2.4.6 subject", { subject: "alice", action: READ, resource: RECORD_1 }],
  ["2.4.6 action.name", { subject: ALICE, action: { name: 123 }, resource: RECORD_1 }],
];

/** Requests of section 3.2 and 3.4, with the decisions; undefined: not specified. */
export const BATCHES: readonly (readonly [string, object, readonly (boolean | undefined)[]])[] = [
  [
    "3.2.1",
    {
      subject: ALICE,
      action: READ,
      evaluations: [{ resource: RECORD_1 }, { resource: RECORD_2 }],
    },
    [true, undefined],
  ],
  [
    "3.2.2",
    { subject: BOB, resource: RECORD_1, evaluations: [{ action: READ }, { action: WRITE }] },
    [true, false],
  ],
  [
    "3.2.3",
    {
      subject: ALICE,
      action: WRITE,
      evaluations: [{ resource: ACTIVE }, { resource: ARCHIVED }],
    },
    [true, false],
  ],
  [
    "3.2.4",
    { action: WRITE, resource: ARCHIVED, evaluations: [{ subject: ALICE }, { subject: ADMIN }] },
    [false, true],
  ],
  [
    "3.2.5",
    {
      evaluations: [
        { subject: ALICE, action: READ, resource: RECORD_1 },
        { subject: BOB, action: WRITE, resource: RECORD_1 },
      ],
    },
    [true, false],
  ],
  [
    "3.2.6",
    {
      subject: ALICE,
      action: READ,
      context: { time: TIME },
      evaluations: [
        { resource: RECORD_1 },
        {
          resource: RECORD_2,
          context: { time: "2025-06-27T19:00-07:00", source: "batch-override" },
        },
      ],
    },
    [undefined, undefined],
  ],
  [
    "3.2.7",
    {
      subject: ALICE,
      action: WRITE,
      resource: ACTIVE,
      evaluations: [{}, { resource: ARCHIVED }],
    },
    [true, false],
  ],
  [
    "3.4.1",
    {
      subject: ALICE,
      action: READ,
      options: { evaluations_semantic: "execute_all" },
      evaluations: [{ resource: RECORD_1 }, {}],
    },
    [true, false],
  ],
];

/** A user of the interoperability scenario Todo, with the roles of its description. */
interface TodoUser {
  readonly id: string;
  readonly email: string;
}

function pid(digit: number): string {
  return Buffer.from(`\n$fd${digit}614d3-c39a-4781-b7bd-8b96f5a5100d\u0012\u0005local`).toString(
    "base64",
  );
}

const EMAILS = [
  "rick@the-citadel.com",
  "morty@the-citadel.com",
  "summer@the-smiths.com",
  "beth@the-smiths.com",
  "jerry@the-smiths.com",
];

export const TODO_USERS: readonly TodoUser[] = EMAILS.map((email, digit) => ({
  id: pid(digit),
  email,
}));

export const TODO_POLICY = `version: 1
rules:
  - id: everyone-reads
    match: { tool: [can_read_user, can_read_todos] }
    then: approve
  - id: editors-create
    match: { tool: can_create_todo }
    when: context.authzen.subject.id in ${list(TODO_USERS.slice(0, 3))}
    then: approve
  - id: admins-and-geniuses
    match: { tool: [can_update_todo, can_delete_todo] }
    when: context.authzen.subject.id == ${JSON.stringify(TODO_USERS[0]?.id)}
    then: approve
${TODO_USERS.slice(1, 3)
  .map(
    ({ id, email }, index) => `  - id: editor-${index + 1}-own
    match: { tool: [can_update_todo, can_delete_todo] }
    when: |-
      context.authzen.subject.id == ${JSON.stringify(id)} &&
      context.authzen.resource.properties.ownerID == ${JSON.stringify(email)}
    then: approve
`,
  )
  .join("")}`;

function list(users: readonly TodoUser[]): string {
  return JSON.stringify(users.map(({ id }) => id));
}

/** Decisions for create, update Rick's, update own, delete Rick's, delete own; all may read. */
const TODO_DECISIONS: readonly (readonly boolean[])[] = [
  [true, true, true, true, true],
  [true, false, true, false, true],
  [true, false, true, false, true],
  [false, false, false, false, false],
  [false, false, false, false, false],
];

function todo(owner: number): object {
  // Rick's own requests name a todo of Morty as the second one.
  const properties = { ownerID: EMAILS[owner] };
  return { type: "todo", id: `7240d0db-8ff0-41ec-98b2-34a096273b9${"21345"[owner]}`, properties };
}

/** The 40 requests to the Access Evaluation API, with the decision. */
export const TODO_SINGLE: readonly (readonly [object, boolean])[] = TODO_USERS.flatMap(
  ({ id, email }, user) => {
    const other = user === 0 ? 1 : user;
    const [create, updateRicks, updateOwn, deleteRicks, deleteOwn] = TODO_DECISIONS[user] ?? [];
    const rows: readonly (readonly [string, object, boolean | undefined])[] = [
      ["can_read_user", { type: "user", id: "beth@the-smiths.com" }, true],
      ["can_read_user", { type: "user", id: email }, true],
      ["can_read_todos", { type: "todo", id: "todo-1" }, true],
      ["can_create_todo", { type: "todo", id: "todo-1" }, create],
      ["can_update_todo", todo(0), updateRicks],
      ["can_update_todo", todo(other), updateOwn],
      ["can_delete_todo", todo(0), deleteRicks],
      ["can_delete_todo", todo(other), deleteOwn],
    ];
    return rows.map(([name, resource, decision]) => {
      const subject = { type: "user", id };
      return [{ subject, action: { name }, resource }, decision === true] as const;
    });
  },
);

/** The three requests to the Access Evaluations API: the user, and the owners with decisions. */
const TODO_BATCH_ROWS: readonly (readonly [number, readonly (readonly [number, boolean])[]])[] = [
  [
    0,
    [
      [0, true],
      [4, true],
    ],
  ],
  [
    1,
    [
      [0, false],
      [1, true],
    ],
  ],
  [
    4,
    [
      [0, false],
      [4, false],
    ],
  ],
];

export const TODO_BATCHES: readonly (readonly [object, readonly boolean[]])[] = TODO_BATCH_ROWS.map(
  ([user, rows]) => [
    {
      subject: { type: "user", id: TODO_USERS[user]?.id },
      action: { name: "can_update_todo" },
      evaluations: rows.map(([owner]) => ({ resource: todo(owner) })),
    },
    rows.map(([, decision]) => decision),
  ],
);
