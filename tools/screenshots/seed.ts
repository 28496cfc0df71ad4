/** Calls, policies and agents that the pictures of the documentation show. */

export interface SeededCall {
  readonly agent: string;
  /** Of the request, without the key. */
  readonly body: Readonly<Record<string, unknown>>;
}

export const CALLS: readonly SeededCall[] = [
  {
    agent: "support-bot",
    body: {
      tool: "refunds.create",
      arguments: { order: "A-1042", cents: 61_800, currency: "EUR" },
      timeout: "25m",
      agent_reasoning: "The parcel is lost, and the customer asked for the money back.",
    },
  },
  {
    agent: "coding-agent",
    body: {
      tool: "Bash",
      arguments: { command: "git push origin main", description: "Publish the fix" },
      timeout: "40m",
      agent_reasoning: "All tests pass.",
    },
  },
  {
    agent: "data-agent",
    body: {
      tool: "db.execute",
      arguments: {
        database: "production",
        sql: "DELETE FROM sessions WHERE last_seen < '2026-01-01'",
      },
      timeout: "50m",
      agent_reasoning: "Old sessions slow down the sign-in.",
    },
  },
  {
    agent: "support-bot",
    body: {
      tool: "mail.send",
      arguments: { to: "m.tanaka@example.com", subject: "Your order A-1042" },
      timeout: "2h",
    },
  },
  {
    agent: "deploy-agent",
    body: {
      tool: "deploy",
      arguments: { service: "checkout", version: "4.12.1", env: "production" },
      timeout: "4h",
      agent_reasoning: "Version 4.12.1 fixes the rounding of taxes.",
    },
  },
];

/** The path contains a Cyrillic letter and an invisible space, which the page must mark. */
export const SUSPICIOUS_EDIT: SeededCall = {
  agent: "coding-agent",
  body: {
    tool: "Edit",
    arguments: {
      file_path: "src/p\u0430y\u200b.ts",
      old_string: "export function pay(amount) {\n  return send(amount);\n}\n",
      new_string:
        "export function pay(amount, to) {\n  check(to);\n  return send(amount, to);\n}\n",
    },
    timeout: "1h",
    agent_reasoning: "Payments need a check of the receiver.",
  },
};

export const POLICY = `version: 1
rules:
  - id: look-ups
    match: { tool: [orders.get, tickets.get] }
    then: approve
  - id: small-refunds
    match: { tool: refunds.create }
    when: args.cents <= 5000
    then: approve
tests:
  - name: a small refund
    given: { tool: refunds.create, args: { cents: 2000 } }
    expect: { then: approve, because: small-refunds }
`;

export const POLICY_DRAFT = POLICY.replace("5000", "80000");
