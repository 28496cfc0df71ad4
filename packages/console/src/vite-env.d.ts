/** Styles are imported for what the build makes of them. */
declare module "*.css";

/** The address of a script that the build makes for a worker. */
declare module "*?worker&url" {
  export default "" as string;
}
