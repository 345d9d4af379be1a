import type { Target } from "../../src/domain/endpoints/endpoint.ts";

/** Secrets of an endpoint that only HMAC signs for, for tests of something else. */
export const HMAC_SECRETS = {
  signingSecret: `whsec_${"A".repeat(43)}=`,
  secretVersion: 1,
  nextSigningSecret: null,
  signatures: ["hmac"],
  privateKeys: [],
} satisfies Partial<Target>;
