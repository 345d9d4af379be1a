import fc from "fast-check";

/**
 * Every run of the tests tries the same inputs, so that a failure is about the change that made it and not about luck.
 * `PROPERTY_SEED=random npm test` looks further; any other number takes that seed.
 */
const asked = process.env["PROPERTY_SEED"];
if (asked !== "random") fc.configureGlobal({ seed: asked === undefined ? 1 : Number(asked) });
