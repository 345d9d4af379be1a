/** Signing secrets as callers with scope `secrets` see them: `interface.md` §3. */
import * as v from "valibot";
import { described, Instant, titled } from "./wire.ts";

export const SigningSecrets = titled(
  "SigningSecrets",
  v.object({
    signing_secret: described(v.string(), "Signs `X-Service-Signature`, and `webhook-signature` beside the next one."),
    next_signing_secret: v.optional(
      described(v.string(), "Only during a rotation: signs `webhook-signature` already, and takes over afterwards."),
    ),
    switches_at: v.optional(described(Instant, "Only during a rotation: when the next secret takes over.")),
  }),
);

export const someSecrets = {
  signing_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
  next_signing_secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=",
  switches_at: "2026-11-21T09:55:00.000Z",
};
