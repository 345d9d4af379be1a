import type { Operation } from "../operation.ts";
import { SigningSecrets, someSecrets } from "../schemas/secret.ts";

const params = { id: "ep" };
const { signing_secret, next_signing_secret } = someSecrets;

export const getSecret: Operation = {
  id: "getSecret",
  tag: "Endpoints",
  summary: "Look at an endpoint's signing secrets",
  params,
  replies: { 200: { description: "What signs, and what will.", schema: SigningSecrets, example: { signing_secret } } },
  problems: ["endpoint_damaged"],
};

export const rotateSecret: Operation = {
  id: "rotateSecret",
  tag: "Endpoints",
  summary: "Rotate the signing secret",
  description:
    "Receivers that verify `X-Service-Signature` must accept **a list of secrets**: add the next one from this answer " +
    "before `switches_at`, and take the old one off afterwards. Until then the current secret signs that header, and " +
    "both sign `webhook-signature`; then the next one takes over by itself. Answered once everything that is sent is " +
    "signed so. A secret that cannot be read (`damaged`) is replaced by a rotation with `overlap_seconds` 0.",
  params,
  example: { overlap_seconds: 86_400 },
  replies: { 200: { description: "Both are in use.", schema: SigningSecrets, example: someSecrets } },
  problems: ["rotation_in_progress", "endpoint_damaged"],
};

export const completeRotation: Operation = {
  id: "completeRotation",
  tag: "Endpoints",
  summary: "Let the next secret take over now",
  description: "For when all receivers have it. Answered once nothing more is signed with the old one.",
  params,
  replies: {
    200: {
      description: "It has taken over.",
      schema: SigningSecrets,
      example: { signing_secret: next_signing_secret },
    },
  },
  problems: ["not_rotating", "endpoint_damaged"],
};

export const abandonRotation: Operation = {
  id: "abandonRotation",
  tag: "Endpoints",
  summary: "Abandon the next secret",
  description: "The current one goes on signing alone. Answered once nothing more is signed with the next one.",
  params,
  replies: { 204: { description: "The next secret is forgotten." } },
  problems: ["not_rotating", "endpoint_damaged"],
};
