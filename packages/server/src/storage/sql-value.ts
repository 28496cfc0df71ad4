/** A value that both databases store as it is. */
export type SqlValue = string | number | null;
