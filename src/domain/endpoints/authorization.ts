/** The header of an endpoint's auth. Pages in browsers need this rule too, where there is no crypto of Node. */

/** True if the requests have an `authorization` header of ours. */
export function setsAuthorization(auth: { readonly type: string } | null): boolean {
  return auth !== null && auth.type !== "mtls";
}
