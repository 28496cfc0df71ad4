/** The address of the logo. */
export const mark = new URL("./mark.svg", import.meta.url).href;
