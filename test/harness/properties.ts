import fc from "fast-check";

/**
 * Every run tries the same inputs, so that a failure comes from the change under test and not from chance.
 * `PROPERTY_SEED=random npm test` tries other inputs, and a number is used as the seed.
 */
const asked = process.env["PROPERTY_SEED"];
if (asked !== "random") fc.configureGlobal({ seed: asked === undefined ? 1 : Number(asked) });
