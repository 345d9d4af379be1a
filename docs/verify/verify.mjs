import { createHmac, timingSafeEqual } from "node:crypto";

/** `body`: the raw bytes. `signature`: the header X-Service-Signature. `secrets`: usually one, two during a rotation. */
export function isGenuine(body, signature, secrets) {
  if (!/^[0-9a-f]{64}$/i.test(signature ?? "")) return false;
  const given = Buffer.from(signature, "hex");
  return secrets.some((secret) => timingSafeEqual(given, createHmac("sha256", secret).update(body).digest()));
}
