/** A sealed audit entry for tests of its forms. */
export const SEALED_ENTRY = {
  origin: "countersign/audit/p/ab",
  position: 41,
  entry: {
    projectId: "8b1ebe103eaee9f5",
    id: "01a20121-c4f9-7371-879a-8103485c4d6c",
    at: Date.UTC(2026, 0, 31, 12),
    kind: "request.resolved",
    actor: "reviewer:01a2",
    subject: "request:01a3",
    // Larger than a number of JavaScript.
    detail: '{"status":"approved","n":12345678901234567890}',
  },
};
