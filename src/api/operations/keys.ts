import type { Operation } from "../operation.ts";
import { aKey, aLastAdminKey, CreatedKey, Key, KeyPage, LastAdminKey } from "../schemas/key.ts";
import { aPageOf } from "../schemas/wire.ts";

const params = { id: "key" };

export const listKeys: Operation = {
  id: "listKeys",
  tag: "Keys",
  summary: "List keys",
  replies: {
    200: {
      description: "A page of them, without the keys themselves.",
      schema: KeyPage,
      example: aPageOf(aKey),
      headers: ["link"],
    },
  },
};

export const createKey: Operation = {
  id: "createKey",
  tag: "Keys",
  summary: "Create a key",
  description: "The answer is the only one that holds `key`, which is stored as a hash.",
  example: { name: aKey.name, scopes: aKey.scopes },
  replies: {
    201: {
      description: "It can be used.",
      schema: CreatedKey,
      example: { ...aKey, key: `whk_${aKey.id.slice(4)}_${"x".repeat(52)}` },
      headers: ["location"],
    },
  },
  problems: ["already_created"],
};

export const getKey: Operation = {
  id: "getKey",
  tag: "Keys",
  summary: "Look at one key",
  params,
  replies: { 200: { description: "The key, without the key itself.", schema: Key, example: aKey } },
};

export const revokeKey: Operation = {
  id: "revokeKey",
  tag: "Keys",
  summary: "Revoke a key",
  description: "It opens nothing from this answer on. Nobody is locked out by it: the unix socket needs no key.",
  params,
  replies: {
    200: { description: "It is revoked, and was the last of its kind.", schema: LastAdminKey, example: aLastAdminKey },
    204: { description: "It is revoked." },
  },
};
