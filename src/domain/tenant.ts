/** `docs/interface.md` §1. */
export const TENANT = /^[A-Za-z0-9_.:-]{1,64}$/;

export function isTenant(text: string): boolean {
  return TENANT.test(text);
}
