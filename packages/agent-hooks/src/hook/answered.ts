/** The exit code of a hook that has answered, for the launcher on Windows. Node does not use it. */
export const ANSWERED = 100;
