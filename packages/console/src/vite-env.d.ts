/** Styles are imported for what the build makes of them. */
declare module "*.css";

/** An example policy; its default export is the text. */
declare module "*.yaml?raw";

/** The address of a script that the build makes for a worker; a text. */
declare module "*?worker&url";
