import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";

/**
 * Verifies a signature as the specification says, and with the Standard Webhooks library, without any code of the
 * daemon.
 */
export function verifies(
  header: (name: string) => string,
  body: Buffer,
  secret: string,
  signature = "x-service-signature",
): boolean {
  if (createHmac("sha256", secret).update(body).digest("hex") !== header(signature)) return false;
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
  try {
    const headers = Object.fromEntries(names.map((name) => [name, header(name)]));
    const { id } = new Webhook(secret).verify(body.toString(), headers) as { id: string };
    return id === header("webhook-id");
  } catch {
    return false;
  }
}
