/** Set to true by scripts/build.ts; absent when the sources run from a checkout. */
declare const __PACKED__: boolean | undefined;

/** Whether this is the one executable of a release. */
// Apart from the version: a sender's thread asks this, and its bundle cannot read a file beside the module.
export const packed: boolean = typeof __PACKED__ === "boolean" && __PACKED__;
