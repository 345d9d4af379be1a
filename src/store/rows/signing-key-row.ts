/** A row of signing_key: the private keys of one tenant, sealed. */
import { newPrivateKey } from "../../domain/endpoints/asymmetric.ts";
import type { NextSecret, SigningSecrets } from "../../domain/endpoints/endpoint.ts";
import { begun, readable, type HeldSecrets, type RotationRefusal } from "../../domain/endpoints/rotation.ts";
import type { KeyRotation, SigningKeys } from "../store.ts";
import type { Box } from "./box.ts";

export interface SigningKeyRow {
  readonly private_key: string;
  readonly next_private_key: string | null;
  readonly switches_at: number | null;
  readonly published: number;
}

/** The columns that a rotation writes. */
export type SealedKeys = Pick<SigningKeyRow, "private_key" | "next_private_key" | "switches_at">;

/** The place to which a sealed key is bound. It does not open in any other place. */
export const privateKeyPlace = (tenant: string): string => `tenant:${tenant}:private_key`;
export const nextPrivateKeyPlace = (tenant: string): string => `tenant:${tenant}:next_private_key`;

/** In SQL: true for an endpoint `e` that its tenant's keys sign for. */
export const USES_KEYS = "e.signatures LIKE '%ed25519%'";

const ofTenant = (column: string) =>
  `CASE WHEN ${USES_KEYS} THEN (SELECT k.${column} FROM signing_key k WHERE k.tenant = e.tenant) END AS ${column}`;
/** In SQL: the keys of an endpoint `e`, NULL unless they sign for it. The table is not read for any other endpoint. */
export const KEYS = `${ofTenant("private_key")}, ${ofTenant("next_private_key")}`;

export function heldKeys(row: SigningKeyRow, tenant: string, box: Box): HeldSecrets {
  const { private_key, next_private_key, switches_at } = row;
  const current = box.open(private_key, privateKeyPlace(tenant));
  if (next_private_key === null || switches_at === null) return { current, next: null };
  return {
    current,
    next: { secret: box.open(next_private_key, nextPrivateKeyPlace(tenant)), switchesAt: switches_at },
  };
}

export function readKeys(row: SigningKeyRow, tenant: string, box: Box): SigningKeys | "damaged" {
  const keys = readable(heldKeys(row, tenant, box));
  return keys === "damaged" ? keys : { ...keys, published: row.published === 1 };
}

/** Applies a rotation to the tenant's row, which is undefined if the tenant has no key yet. */
export function rotatedKeys(
  row: SigningKeyRow | undefined,
  tenant: string,
  { box, next, now }: { readonly box: Box; readonly next: NextSecret; readonly now: number },
): SigningSecrets | RotationRefusal {
  // Nothing verifies with a first key yet, so it needs no overlap.
  if (row === undefined) return { current: next.secret, next: null };
  return begun(heldKeys(row, tenant, box), next, now);
}

export function sealedKeys({ current, next }: SigningSecrets, tenant: string, box: Box): SealedKeys {
  return {
    private_key: box.seal(current, privateKeyPlace(tenant)),
    next_private_key: next === null ? null : box.seal(next.secret, nextPrivateKeyPlace(tenant)),
    switches_at: next?.switchesAt ?? null,
  };
}

/** The first key of a tenant, sealed. */
export function firstKey(tenant: string, box: Box, random: (bytes: number) => Uint8Array): string {
  return box.seal(newPrivateKey(random), privateKeyPlace(tenant));
}

/** Returns the answer to a rotation that was written. */
export function rotationDone(keys: SigningKeys | "damaged" | null, endpoints: readonly string[]): KeyRotation {
  return keys === null || keys === "damaged" ? { result: "damaged" } : { result: "done", keys, endpoints };
}
