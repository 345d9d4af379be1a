/** The first API key of a new store, left in a file so that nobody has to be asked for it. */
import { existsSync, readFileSync } from "node:fs";
import { newId } from "../../domain/id.ts";
import { type NewApiKey, createToken, hashSecret, parseToken } from "../../domain/keys/key.ts";
import { writeDurably } from "../files/durable-file.ts";

/** The key in the file, which a first start that was cut short may have left, or a new one. */
export function readOrMakeAdminKey(file: string, now: number, random: (bytes: number) => Uint8Array): NewApiKey {
  const left = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  let token = parseToken(left);
  if (token === null) {
    const text = createToken(newId("key", now, random(10)).slice("key_".length), random(32));
    writeDurably(file, `${text}\n`);
    token = parseToken(text)!;
  }
  const hash = hashSecret(token.secret);
  return { id: token.keyId, name: "admin", hash, scopes: ["admin"], tenant: "*", expiresAt: null };
}
