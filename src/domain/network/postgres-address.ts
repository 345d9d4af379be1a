/** An address of PostgreSQL: the scheme with the user and the password, the hosts, and the database with its options. */
export const POSTGRES_ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/s;

/** Returns the hosts and the database for people, without user and password. */
export function hostsOf(url: string): string {
  const [, , hosts = "", after = ""] = POSTGRES_ADDRESS.exec(url) ?? [];
  return `${hosts}${after.replace(/\?.*/s, "")}`;
}
